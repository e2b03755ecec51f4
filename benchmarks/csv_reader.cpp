// read_table with two threads against pandas' C reader (which has one) on a file of a million rows: three columns of
// integers, four of short decimals, three of decimals with up to 17 digits. pandas runs in a process of its own before
// and after, and prints its best of three; its default float parser is not exact, read_table is.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/table/csv.h"

namespace {

constexpr std::int64_t kRows = 1000000;
constexpr int kColumns = 10;

class NumericFile {
 public:
  NumericFile() : path_(std::filesystem::temp_directory_path() / "ick_benchmark_XXXXXX") {
    const int descriptor = ::mkstemp(path_.data());
    std::FILE* file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
    if (!file) return;
    ick::Random random(1);
    std::fputs("a,b,c,d,e,f,g,h,i,j\n", file);
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::fprintf(file, "%d,%d,%d", static_cast<int>(random.below(100)),
                   static_cast<int>(random.below(100000)) - 50000, static_cast<int>(random.below(2000000000)));
      for (int digits = 1; digits <= 4; ++digits) std::fprintf(file, ",%.*f", digits, 200.0 * random.uniform() - 100.0);
      for (const double scale : {1.0, 1e3, 1e-3}) {
        std::fprintf(file, ",%s", ick::number_text(scale * random.uniform()).c_str());
      }
      std::fputc('\n', file);
    }
    std::fclose(file);
  }
  ~NumericFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Seconds; none without pandas. Another python3 may stand before Debian's, which is the one with Debian's pandas.
std::optional<double> pandas_seconds(const std::string& path) {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    const std::string command = python +
                                " -c 'import pandas, sys, time\n"
                                "times = []\n"
                                "for _ in range(3):\n"
                                "    begin = time.perf_counter()\n"
                                "    pandas.read_csv(sys.argv[1])\n"
                                "    times.append(time.perf_counter() - begin)\n"
                                "print(min(times))' " +
                                path + " 2>/dev/null";
    std::FILE* output = ::popen(command.c_str(), "r");
    if (!output) continue;
    double seconds = 0.0;
    const bool found = std::fscanf(output, "%lf", &seconds) == 1;
    ::pclose(output);
    if (found) return seconds;
  }
  return std::nullopt;
}

double peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

void read_numbers(benchmark::State& state) {
  const NumericFile file;
  ick::ReadOptions options;
  options.threads = static_cast<int>(state.range(0));
  std::optional<double> pandas = pandas_seconds(file.path());
  const double before = peak_bytes();
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const ick::Table table = ick::read_table(file.path(), options);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (table.rows != kRows || table.columns.size() != kColumns)
      state.SkipWithError("the table is not what was written");
  }
  // Threads run one after the other leave their peak behind: meaningful for the first.
  state.counters["memory_ratio"] = (peak_bytes() - before) / (8.0 * kRows * kColumns);
  state.counters["best_s"] = best;
  state.counters["MB_per_s"] = static_cast<double>(std::filesystem::file_size(file.path())) / best / 1e6;
  if (!pandas) {
    state.SetLabel("pandas is not installed (python3-pandas): no comparison");
    return;
  }
  pandas = std::min(*pandas, pandas_seconds(file.path()).value_or(*pandas));
  state.counters["pandas_s"] = *pandas;
  state.counters["ratio"] = *pandas / best;
}

BENCHMARK(read_numbers)->Arg(2)->Arg(1)->Iterations(5)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
