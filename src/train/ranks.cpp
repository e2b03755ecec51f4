#include "ick/train/ranks.h"

#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

using Clock = std::chrono::steady_clock;
using Store = c10::intrusive_ptr<c10d::Store>;
using Gloo = c10d::ProcessGroupGloo;

constexpr std::chrono::milliseconds kAgain{50};  // between two looks at what other processes have done

std::string text_of(std::chrono::milliseconds time) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(time);
  if (minutes.count() > 0 && minutes == time) {
    return fmt::format("{} minute{}", minutes.count(), minutes.count() == 1 ? "" : "s");
  }
  return number_text(static_cast<double>(time.count()) / 1000.0) + " s";
}

// The useful part of "[../gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:9216".
std::string reason(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  text = text.substr(0, text.find('\n'));
  const std::size_t place = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return place == std::string::npos ? text : text.substr(place + 2);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string needed(const char* name) {
  const std::string value = variable(name);
  if (!value.empty()) return value;
  throw UsageError(fmt::format(
      "WORLD_SIZE is {}, but {} is not set; several processes need MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE each",
      variable("WORLD_SIZE"), name));
}

int whole_number(const char* name, int lowest, int highest) {
  const std::string text = needed(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= lowest && value <= highest) return value;
  throw UsageError(fmt::format("{}: \"{}\" is not a whole number from {} to {}", name, text, lowest, highest));
}

struct Environment {
  std::string host, port;
  int rank = 0, size = 1;
  bool is_served = false;  // torchrun keeps the store itself
  std::string prefix;      // of keys, for every start of the job by torchrun

  std::string here() const { return fmt::format("rank {} of {}", rank, size); }
};

// Waits for other processes to appear, and says so once.
class Patience {
 public:
  Patience(const Environment& at, const RanksOptions& options) : at_(at), options_(options) {}

  Clock::duration left() const { return begin_ + options_.join_timeout - Clock::now(); }
  bool is_out() const { return left() <= Clock::duration::zero(); }

  // `whom` as in "3 of 4 processes".
  void wait(const std::string& whom) {
    if (!said_ && options_.waiting && Clock::now() - begin_ >= options_.waiting_after) {
      options_.waiting(fmt::format("{}: waiting for {} at {}:{} (gives up after {})", at_.here(), whom, at_.host,
                                   at_.port, text_of(options_.join_timeout)));
      said_ = true;
    }
    std::this_thread::sleep_for(kAgain);
  }

 private:
  const Environment& at_;
  const RanksOptions& options_;
  const Clock::time_point begin_ = Clock::now();
  bool said_ = false;
};

Environment read_environment() {
  constexpr int kManyRanks = 1 << 20;
  Environment at;
  at.size = whole_number("WORLD_SIZE", 1, kManyRanks);
  if (at.size == 1) return at;
  at.rank = whole_number("RANK", 0, at.size - 1);
  at.host = needed("MASTER_ADDR");
  at.port = std::to_string(whole_number("MASTER_PORT", 1, 65535));
  at.is_served = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  at.prefix = "ick/" + variable("TORCHELASTIC_RESTART_COUNT");
  return at;
}

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST];
  const int code = ::getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? text : "";
}

// This machine's address on the way to another: that of a connection, which is tried once (a datagram socket sends
// nothing for it). "" when there is none, with the reason.
std::string address_towards(const std::string& host, const std::string& port, int kind, Clock::duration patience,
                            std::string& why) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = kind;
  if (const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    why = ::gai_strerror(code);
    return "";
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  const timeval limit{.tv_sec = std::chrono::ceil<std::chrono::seconds>(patience).count(), .tv_usec = 1};
  std::string address;
  for (; found != nullptr && address.empty(); found = found->ai_next) {
    const int socket = ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
    if (socket < 0) continue;
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // holds for connect
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (::connect(socket, found->ai_addr, found->ai_addrlen) != 0) {
      why = std::strerror(errno);
    } else if (::getsockname(socket, reinterpret_cast<sockaddr*>(&local), &length) == 0) {
      address = numeric(reinterpret_cast<sockaddr*>(&local), length);
    }
    ::close(socket);
  }
  return address;
}

std::string address_towards_master(const Environment& at, Patience& patience) {
  constexpr Clock::duration kOneTry = std::chrono::seconds(5);  // a machine that drops what it gets never answers
  std::string why;
  do {
    const auto limit = std::clamp(patience.left(), Clock::duration::zero(), kOneTry);
    const std::string address = address_towards(at.host, at.port, SOCK_STREAM, limit, why);
    if (!address.empty()) return address;
    patience.wait("rank 0");
  } while (!patience.is_out());
  throw UsageError(fmt::format(
      "{}: nothing answers at MASTER_ADDR={}, MASTER_PORT={} ({}); expected the machine where rank 0 runs and "
      "a free port there; check that rank 0 was started and that no firewall is in between",
      at.here(), at.host, at.port, why));
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

// Gloo writes to sockets whose other end may be gone and knows nothing of SIGPIPE, which would end the program. Threads
// inherit what their maker blocks.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlocked() {
    const timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  sigset_t pipe_, before_;
};

// c10d complains on stderr of what it also throws.
class LogSilenced {
 public:
  LogSilenced() { FLAGS_caffe2_log_level = 3; }  // fatal
  ~LogSilenced() { FLAGS_caffe2_log_level = before_; }
  LogSilenced(const LogSilenced&) = delete;
  LogSilenced& operator=(const LogSilenced&) = delete;

 private:
  const int before_ = FLAGS_caffe2_log_level;
};

// What the processes know of each other before they are connected. Rank 0 serves it, unless torchrun does.
Store make_store(const Environment& at, std::chrono::milliseconds join_timeout, Patience& patience) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(std::stoi(at.port));
  options.isServer = at.rank == 0 && !at.is_served;
  options.waitWorkers = false;
  options.timeout = std::max(join_timeout, std::chrono::milliseconds(1000));  // c10d counts in seconds
  if (!options.isServer) address_towards_master(at, patience);                // c10d's own waiting would not say why
  const LogSilenced silenced;
  try {
    const std::string host = options.isServer ? "127.0.0.1" : at.host;  // a server needs no name of its own
    return c10::make_intrusive<c10d::PrefixStore>(at.prefix, c10::make_intrusive<c10d::TCPStore>(host, options));
  } catch (const std::exception& error) {
    if (!options.isServer) throw;
    throw UsageError(fmt::format("{}: cannot listen on MASTER_PORT={} ({}); expected a port that no other program uses",
                                 at.here(), at.port, reason(error)));
  }
}

// Waits for all ranks and tells them `address`.
void meet(const Environment& at, c10d::Store& store, const std::string& address, const RanksOptions& options,
          Patience& patience) {
  const auto bytes = [](const std::string& text) { return std::vector<std::uint8_t>(text.begin(), text.end()); };
  const std::vector<std::uint8_t> size = bytes(std::to_string(at.size));
  if (const auto other = store.compareSet("size", {}, size); other != size) {
    throw UsageError(fmt::format("{}: WORLD_SIZE is {} for another process; expected the same number for all",
                                 at.here(), std::string(other.begin(), other.end())));
  }
  if (store.add(fmt::format("count/{}", at.rank), 1) != 1) {
    throw UsageError(fmt::format("{}: another process has RANK={} too; expected each number once", at.here(), at.rank));
  }
  store.set(fmt::format("address/{}", at.rank), bytes(address));
  store.add("present", 1);
  for (std::int64_t present; (present = store.add("present", 0)) < at.size;) {
    if (!patience.is_out()) {
      patience.wait(fmt::format("{} of {} processes", at.size - present, at.size));
      continue;
    }
    std::vector<std::string> missing;
    for (int rank = 0; rank < at.size; ++rank) {
      if (!store.check({fmt::format("address/{}", rank)})) missing.push_back(std::to_string(rank));
    }
    throw UsageError(fmt::format(
        "{}: {} {} did not come within {}; expected {} processes, with RANK from 0 to {}; check that all were started "
        "with this MASTER_ADDR ({}) and MASTER_PORT ({}) and that no firewall is in between",
        at.here(), missing.size() == 1 ? "rank" : "ranks", join_words(missing), text_of(options.join_timeout), at.size,
        at.size - 1, at.host, at.port));
  }
}

// Where this process listens to the others. A host name often stands for the loopback device on its own machine; if
// another rank came from elsewhere, the interface that leads there is the one.
std::vector<std::shared_ptr<gloo::transport::Device>> make_devices(const Environment& at, c10d::Store& store,
                                                                   std::string address) {
  std::vector<std::shared_ptr<gloo::transport::Device>> devices;
  std::istringstream interfaces(variable("GLOO_SOCKET_IFNAME"));
  for (std::string name; std::getline(interfaces, name, ',');) {
    try {
      devices.push_back(Gloo::createDeviceForInterface(name));
    } catch (const std::exception& error) {
      throw UsageError(fmt::format("{}: GLOO_SOCKET_IFNAME: no network interface \"{}\" to listen on ({})", at.here(),
                                   name, reason(error)));
    }
  }
  if (!devices.empty()) return devices;
  for (int rank = 0; rank < at.size && is_loopback(address); ++rank) {
    const std::vector<std::uint8_t> told = store.get(fmt::format("address/{}", rank));
    const std::string other(told.begin(), told.end());
    std::string why;
    if (is_loopback(other)) continue;
    const std::string outward = address_towards(other, at.port, SOCK_DGRAM, kAgain, why);
    if (!outward.empty()) address = outward;
  }
  return {Gloo::createDeviceForHostname(address)};
}

// Connecting may take less time than a call later on.
class Group : public Gloo {
 public:
  Group(const Store& store, int rank, int size, const c10::intrusive_ptr<Gloo::Options>& options,
        std::chrono::milliseconds later)
      : Gloo(store, rank, size, options) {
    for (const auto& each : contexts_) each->setTimeout(later);
  }
};

}  // namespace

// The connections of this process, shared by Ranks and its parts.
class Ranks::World {
 public:
  World(const Environment& at, const RanksOptions& options)
      : here_(at.here()),
        timeout_(options.timeout),
        options_(Gloo::Options::create(std::max(options.connect_timeout, at.size * std::chrono::milliseconds(1000)))) {
    const PipeSignalBlocked blocked;
    Patience patience(at, options);
    store_ = make_store(at, options.join_timeout, patience);
    const std::string address = address_towards_master(at, patience);
    meet(at, *store_, address, options, patience);
    options_->devices = make_devices(at, *store_, address);
    options_->threads = 1;  // collectives follow one another
    connect("all", at.rank, at.size);
  }

  ~World() {
    if (lost_.empty() && std::uncaught_exceptions() == exceptions_ && !groups_.empty()) {
      try {
        groups_[0]->barrier()->wait();
      } catch (const std::exception&) {  // who has left was there
      }
    }
  }

  std::size_t connect(const std::string& name, int rank, int size) {
    const PipeSignalBlocked blocked;
    guarded([&] {
      const auto store = c10::make_intrusive<c10d::PrefixStore>(name, store_);
      groups_.push_back(c10::make_intrusive<Group>(store, rank, size, options_, timeout_));
    });
    return groups_.size() - 1;
  }

  template <class Start>
  void collective(std::size_t group, const Start& start) {
    if (!lost_.empty()) throw RankLost(lost_);
    const c10::intrusive_ptr<c10d::Work> work = start(*groups_[group]);
    guarded([&] { work->wait(); });
  }

 private:
  // Closes all connections at a failure: those who wait for this process learn of it now.
  template <class Action>
  void guarded(const Action& action) {
    try {
      action();
    } catch (const std::exception& error) {
      const std::string why = reason(error);
      lost_ = fmt::format("{}: another process {} ({})", here_,
                          why.starts_with("Timed out") ? "does not answer" : "is gone", why);
      groups_.clear();
      store_.reset();
      throw RankLost(lost_);
    }
  }

  const std::string here_;
  const int exceptions_ = std::uncaught_exceptions();
  const std::chrono::milliseconds timeout_;
  c10::intrusive_ptr<Gloo::Options> options_;  // of connecting
  Store store_;
  std::vector<c10::intrusive_ptr<Gloo>> groups_;  // the first is that of all ranks
  std::string lost_;                              // why, once it is
};

std::unique_ptr<Ranks> Ranks::from_environment(const RanksOptions& options) {
  if (variable("WORLD_SIZE").empty()) return nullptr;
  const Environment at = read_environment();
  if (at.size == 1) return nullptr;
  try {
    return std::unique_ptr<Ranks>(new Ranks(std::make_shared<World>(at, options), 0, at.rank, at.size));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw RankLost(fmt::format("{}: another process is gone ({})", at.here(), reason(error)));
  }
}

Ranks::Ranks(std::shared_ptr<World> world, std::size_t group, int rank, int size)
    : world_(std::move(world)), group_(group), rank_(rank), size_(size) {}

Ranks::~Ranks() = default;

namespace {

std::vector<at::Tensor> in_place(const at::Tensor& values) {
  if (!values.is_contiguous()) throw std::logic_error("Ranks: expected a tensor that is contiguous");
  return {values};
}

}  // namespace

void Ranks::sum(const at::Tensor& values) {
  if (values.numel() == 0) return;
  std::vector<at::Tensor> tensors = in_place(values);
  world_->collective(group_, [&](Gloo& group) { return group.allreduce(tensors); });
}

void Ranks::broadcast(const at::Tensor& values, int from) {
  if (values.numel() == 0) return;
  std::vector<at::Tensor> tensors = in_place(values);
  c10d::BroadcastOptions options;
  options.rootRank = from;
  world_->collective(group_, [&](Gloo& group) { return group.broadcast(tensors, options); });
}

void Ranks::barrier() {
  world_->collective(group_, [](Gloo& group) { return group.barrier(); });
}

std::unique_ptr<Ranks> Ranks::part(const std::vector<int>& ranks, const std::string& name) {
  barrier();  // while connections are made, only connect_timeout tells of a process that ends
  const auto place = std::find(ranks.begin(), ranks.end(), rank_);
  if (place == ranks.end()) return nullptr;
  const auto rank = static_cast<int>(place - ranks.begin()), size = static_cast<int>(ranks.size());
  return std::unique_ptr<Ranks>(new Ranks(world_, world_->connect("part/" + name, rank, size), rank, size));
}

}  // namespace ick
