#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

// A simulated city under haze: fine dust at some stations, day by day, and what a camera above them sees. All of it is
// drawn by ick/base/seed.h, so a seed gives the same set everywhere, but for the last digit of a machine's exp and cos.
namespace ick {

struct HazeOptions {
  std::int64_t stations = 8;
  std::int64_t days = 730;
  std::int64_t size = 32;  // height and width of an image in pixels
  std::uint64_t seed = 0;
};

// Year one is for training, the next 135 days for validation, the rest for the test.
constexpr std::string_view haze_split(std::int64_t day) {
  return day < 365 ? "train" : day < 365 + 135 ? "validation" : "test";
}

// A set with more days or stations begins as one with fewer; more pixels show the same scenes.
class Haze {
 public:
  struct Station {
    double latitude, longitude;   // degrees
    std::vector<double> pm25;     // (days) in ug/m3
    std::vector<double> surface;  // (H, W, 3) J, the reflectance of the ground
  };

  explicit Haze(const HazeOptions& options);

  const std::vector<Station>& stations() const { return stations_; }
  std::vector<std::uint8_t> image(std::int64_t station, std::int64_t day) const;  // (H, W, 3)

 private:
  HazeOptions options_;
  std::vector<Station> stations_;
};

}  // namespace ick
