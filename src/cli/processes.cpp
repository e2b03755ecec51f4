#include "cli/processes.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/train/threads.h"

namespace ick {

namespace {

// What a process says, a line each: a letter and JSON.
constexpr char kProgressLine = 'p', kResultLine = 'r', kErrorLine = 'e';

void send(int pipe, char kind, const std::string& text) {
  const std::string line = kind + text + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t bytes = write(pipe, line.data() + sent, line.size() - sent);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) _exit(1);  // nobody listens
    sent += static_cast<std::size_t>(bytes);
  }
}

std::string kind_of(const std::exception& error) {
  if (dynamic_cast<const UsageError*>(&error) != nullptr) return "usage";
  if (dynamic_cast<const DataError*>(&error) != nullptr) return "data";
  if (dynamic_cast<const NumericError*>(&error) != nullptr) return "numeric";
  return "other";
}

std::exception_ptr error_from(const nlohmann::json& json) {
  const std::string kind = json.at("kind"), text = json.at("text");
  if (kind == "usage") return std::make_exception_ptr(UsageError(text));
  if (kind == "data") return std::make_exception_ptr(DataError(text));
  if (kind == "numeric") return std::make_exception_ptr(NumericError(text));
  return std::make_exception_ptr(Error(text));
}

[[noreturn]] void work_here(const Processes& on, std::int64_t task, int pipe, pid_t parent) {
  std::signal(SIGINT, SIG_IGN);  // the parent hears it, too, and ends this process
  std::signal(SIGTERM, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  set_workers(on.threads);
  use_torch_threads(on.threads);
  const auto refuse = [&](const std::string& kind, const std::string& text) {
    send(pipe, kErrorLine,
         nlohmann::json{{"kind", kind}, {"text", text}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  FitControl control;
  control.progress = [&](const Progress& p) {
    send(pipe, kProgressLine, nlohmann::json{{"phase", p.phase}, {"epoch", p.epoch}, {"epochs", p.epochs}}.dump());
  };
  try {
    send(pipe, kResultLine, on.work(task, control));
  } catch (const std::bad_alloc&) {
    refuse("other", "out of memory; " + setting("threads", "1") + " lets fewer fits run at a time");
  } catch (const Error& error) {
    refuse(kind_of(error), error.message().marked());
  } catch (const std::exception& error) {
    refuse("other", error.what());
  }
  _exit(0);
}

// A process at work.
struct Running {
  std::int64_t task = 0;
  pid_t process = -1;
  int pipe = -1;
  std::string unread;  // of a line that has not ended
  bool answered = false;
};

class Herd {
 public:
  explicit Herd(const Processes& on) : on_(on) {}
  ~Herd() {
    while (!all_.empty()) end(0);
  }

  std::size_t size() const { return all_.size(); }

  void begin(std::int64_t task) {
    int ends[2];
    if (pipe(ends) != 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
    std::fflush(stdout);
    std::fflush(stderr);
    const pid_t parent = getpid(), process = fork();
    if (process < 0) {
      const std::string reason = std::strerror(errno);
      close(ends[0]), close(ends[1]);
      throw Error("cannot start a process: " + reason);
    }
    if (process == 0) {
      close(ends[0]);
      work_here(on_, task, ends[1], parent);
    }
    close(ends[1]);
    all_.push_back({task, process, ends[0], {}, false});
  }

  void end_unwanted() {
    for (std::size_t i = all_.size(); i-- > 0;) {
      if (!on_.wanted(all_[i].task)) end(i);
    }
  }

  // Reads what there is, for a tenth of a second at most.
  void listen() {
    std::vector<pollfd> ready;
    for (const Running& each : all_) ready.push_back({each.pipe, POLLIN, 0});
    if (poll(ready.data(), ready.size(), 100) <= 0) return;
    for (std::size_t i = ready.size(); i-- > 0;) {
      if (ready[i].revents != 0) read_from(i);
    }
  }

 private:
  void read_from(std::size_t i) {
    char bytes[1 << 16];
    const ssize_t count = read(all_[i].pipe, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) return;
    if (count > 0) {
      Running& from = all_[i];
      from.unread.append(bytes, static_cast<std::size_t>(count));
      std::size_t begin = 0;
      for (std::size_t stop; (stop = from.unread.find('\n', begin)) != std::string::npos; begin = stop + 1) {
        hear(from, from.unread.substr(begin, stop - begin));
      }
      from.unread.erase(0, begin);
      return;
    }
    const Running gone = all_[i];
    const int status = end(i, /*by_itself=*/true);
    if (gone.answered) return;
    on_.failed(gone.task,
               std::make_exception_ptr(
                   Error(WIFSIGNALED(status) ? fmt::format("a process was ended by signal {} ({})", WTERMSIG(status),
                                                           WTERMSIG(status) == SIGKILL ? "memory may have run out"
                                                                                       : strsignal(WTERMSIG(status)))
                                             : "a process ended without a result")));
  }

  void hear(Running& from, const std::string& line) {
    const std::string text = line.substr(1);
    if (line[0] == kProgressLine) {
      const nlohmann::json json = nlohmann::json::parse(text);
      Progress& p = progress_[from.task];
      p.phase = json.at("phase"), p.epoch = json.at("epoch"), p.epochs = json.at("epochs");
      if (on_.progress) on_.progress(progress_);
      return;
    }
    from.answered = true;
    progress_.erase(from.task);
    if (line[0] == kResultLine) {
      on_.done(from.task, text);
    } else {
      on_.failed(from.task, error_from(nlohmann::json::parse(text)));
    }
  }

  int end(std::size_t i, bool by_itself = false) {
    const Running gone = all_[i];
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    progress_.erase(gone.task);
    close(gone.pipe);
    if (!by_itself) kill(gone.process, SIGKILL);
    int status = 0;
    while (waitpid(gone.process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  const Processes& on_;
  std::vector<Running> all_;
  std::map<std::int64_t, Progress> progress_;
};

}  // namespace

void Processes::run(std::int64_t tasks) const {
  Herd herd(*this);
  for (std::int64_t next = 0; next < tasks || herd.size() > 0;) {
    if (stop && stop()) return;
    herd.end_unwanted();
    while (next < tasks && herd.size() < static_cast<std::size_t>(at_once)) {
      if (wanted(next)) herd.begin(next);
      ++next;
    }
    if (herd.size() > 0) herd.listen();
  }
}

}  // namespace ick
