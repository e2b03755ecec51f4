// power_table ROWS [SEED] writes a table of a household's electric power to stdout, one row a minute, with the columns
// and the precision of the UCI data set "Individual household electric power consumption": kW, kW (reactive), V, A, and
// three sub-meters in Wh.

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>

#include "ick/base/seed.h"

namespace {

constexpr int kDay = 24 * 60;  // minutes

// Something that is switched on now and then, mostly around an hour of the day, and runs for a while.
class Appliance {
 public:
  Appliance(double starts_a_day, double hour, double minutes, double load, double standby)
      : starts_(starts_a_day / kDay), hour_(hour), minutes_(minutes), load_(load), standby_(standby) {}

  // Wh in this minute, whole as the meters give them.
  double operator()(int minute_of_day, ick::Random& random) {
    if (left_ > 0) {
      --left_;
    } else {
      const double angle = 2.0 * std::numbers::pi * (minute_of_day / 60.0 - hour_) / 24.0;
      if (random.uniform() >= starts_ * (1.0 + std::cos(angle))) return standby_;
      left_ = static_cast<int>(-minutes_ * std::log(random.uniform()));
    }
    return std::floor(load_ * (0.9 + 0.2 * random.uniform()));
  }

 private:
  double starts_, hour_, minutes_, load_, standby_;
  int left_ = 0;  // minutes
};

// A number of three decimals, not negative.
void append_fixed(std::string& to, double value) {
  const auto thousandths = static_cast<std::int64_t>(std::llround(1000.0 * value));
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, thousandths / 1000).ptr;
  to += ',';
  to.append(digits, end);
  to += '.';
  for (std::int64_t place = 100, rest = thousandths % 1000; place > 0; place /= 10) {
    to += static_cast<char>('0' + rest / place % 10);
  }
}

void append_two_digits(std::string& to, unsigned value) {
  to += static_cast<char>('0' + value / 10);
  to += static_cast<char>('0' + value % 10);
}

void append_time(std::string& to, std::chrono::sys_days day, int minute_of_day) {
  const std::chrono::year_month_day date(day);
  to += std::to_string(static_cast<int>(date.year()));
  to += '-';
  append_two_digits(to, static_cast<unsigned>(date.month()));
  to += '-';
  append_two_digits(to, static_cast<unsigned>(date.day()));
  to += ' ';
  append_two_digits(to, static_cast<unsigned>(minute_of_day) / 60);
  to += ':';
  append_two_digits(to, static_cast<unsigned>(minute_of_day) % 60);
}

bool write_out(std::string& text) {
  const char* at = text.data();
  for (std::size_t left = text.size(); left > 0;) {
    const ssize_t written = ::write(STDOUT_FILENO, at, left);
    if (written < 0) return false;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  text.clear();
  return true;
}

bool write_table(std::int64_t rows, std::uint64_t seed) {
  using namespace std::chrono;
  constexpr std::size_t kBuffer = std::size_t{1} << 20;
  ick::Random random(seed);
  Appliance kitchen(1.5, 19.0, 25.0, 38.0, 0.0), laundry(0.8, 11.0, 60.0, 35.0, 1.0), heater(5.0, 7.0, 45.0, 18.0, 1.0);
  sys_days day = 2006y / December / 16;
  int minute = 17 * 60 + 24;
  double wandering = 0.0;  // everything else that is on: changes within half an hour or so
  std::string text =
      "time,Global_active_power,Global_reactive_power,Voltage,Global_intensity,Sub_metering_1,Sub_metering_2,"
      "Sub_metering_3\n";
  for (std::int64_t row = 0; row < rows; ++row) {
    const double angle = 2.0 * std::numbers::pi * minute / kDay;
    const double metered[] = {kitchen(minute, random), laundry(minute, random), heater(minute, random)};  // Wh
    wandering = 0.97 * wandering + 0.03 * random.normal();
    const double lights = 0.35 - 0.22 * std::sin(angle) - 0.1 * std::cos(2.0 * angle);
    const double active = 0.06 * (metered[0] + metered[1] + metered[2]) + lights * std::exp(4.0 * wandering);
    const double reactive = std::abs(0.03 * active + 0.08 * random.normal());
    const double voltage = 242.0 - 0.9 * active + 1.5 * std::cos(2.0 * angle) + 1.2 * random.normal();
    const double intensity = 1000.0 * std::hypot(active, reactive) / voltage;
    append_time(text, day, minute);
    append_fixed(text, active);
    append_fixed(text, reactive);
    append_fixed(text, 0.01 * std::round(100.0 * voltage));
    append_fixed(text, 0.2 * std::round(5.0 * intensity));
    for (const double each : metered) append_fixed(text, each);
    text += '\n';
    if (++minute == kDay) minute = 0, day += days(1);
    if (text.size() > kBuffer && !write_out(text)) return false;
  }
  return write_out(text);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t rows = argc > 1 ? std::atoll(argv[1]) : 0;
  if (rows <= 0 || argc > 3) {
    std::fprintf(stderr, "usage: power_table ROWS [SEED] > power.csv\n");
    return 2;
  }
  if (write_table(rows, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1)) return 0;
  std::perror("power_table");
  return 1;
}
