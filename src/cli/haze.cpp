#include "cli/haze.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr double kLatitude = 28.6, kLongitude = 77.2;  // of the city, whose winters are dusty and whose summers humid
constexpr double kReach = 0.2;                         // degrees from the centre to the outermost stations

// Days after new year of the yearly peaks, and their size.
constexpr double kDustDay = 10.0, kDustSeason = 0.45;    // of log PM2.5
constexpr double kHumidDay = 200.0, kHumidSeason = 0.4;  // of the thickness of a ug/m3, relative
constexpr double kSunDay = 172.0, kSunSeason = 0.15;     // of the light, relative
constexpr double kThickness = 0.01;                      // optical, of a ug/m3 in the yearly mean
constexpr std::array kWavelength = {0.65, 0.55, 0.45};   // of red, green and blue in um
constexpr double kAngstrom = 1.3;                        // thickness ~ wavelength^-kAngstrom
constexpr std::array kAirlight = {0.78, 0.77, 0.75};     // of haze without end, in red, green and blue
constexpr double kCloud = 0.95;                          // how bright, in all three

double yearly(std::int64_t day, double peak) {
  return std::cos(2.0 * std::numbers::pi * (static_cast<double>(day) - peak) / 365.25);
}

// w_t = keep w_{t-1} + sqrt(1 - keep^2) e_t, with standard deviation `sd` from the first day on
std::vector<double> weather(std::int64_t days, double keep, double sd, Random random) {
  std::vector<double> values;
  double state = random.normal();
  for (std::int64_t day = 0; day < days; ++day) {
    values.push_back(sd * state);
    state = keep * state + std::sqrt(1.0 - keep * keep) * random.normal();
  }
  return values;
}

// log PM2.5 = station + season + weather of the city + weather of the place + noise: variances of 0.04, 0.10, 0.10,
// 0.04 and 0.0025.
std::vector<double> draw_pm25(const std::vector<double>& city, std::uint64_t seed) {
  Random random(seed_for(seed, "level"));
  const double level = 4.5 + 0.2 * random.normal();
  const double season = kDustSeason * (1.0 + 0.15 * random.normal());
  const auto days = static_cast<std::int64_t>(city.size());
  std::vector<double> values = weather(days, 0.7, 0.2, Random(seed_for(seed, "weather")));
  for (std::int64_t day = 0; day < days; ++day) {
    double& value = values[day];
    value = std::exp(level + season * yearly(day, kDustDay) + city[day] + value + 0.05 * random.normal());
  }
  return values;
}

// Soft ground of waves with blocks on it, over the unit square: fields, roofs and streets.
std::vector<double> draw_surface(std::int64_t size, Random random) {
  struct Wave {
    double across, down, phase;
    std::array<double, 3> height;
  };
  struct Block {
    double left, top, width, height;
    std::array<double, 3> step;
  };
  // Colours differ less than light and dark do.
  const auto colour = [&](double sd) {
    const double grey = random.normal();
    std::array<double, 3> rgb;
    for (double& each : rgb) each = sd * (grey + 0.4 * random.normal());
    return rgb;
  };
  std::vector<Wave> waves(12);
  for (Wave& wave : waves) {
    wave = {2.0 * random.normal(), 2.0 * random.normal(), random.uniform(), colour(0.05)};
  }
  std::vector<Block> blocks(8);
  for (Block& block : blocks) {
    block = {0.9 * random.uniform(), 0.9 * random.uniform(), 0.1 + 0.3 * random.uniform(), 0.1 + 0.3 * random.uniform(),
             colour(0.15)};
  }
  std::vector<double> surface;
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = 0; column < size; ++column) {
      const double x = (static_cast<double>(column) + 0.5) / static_cast<double>(size);
      const double y = (static_cast<double>(row) + 0.5) / static_cast<double>(size);
      for (std::size_t c = 0; c < 3; ++c) {
        double value = 0.35;
        for (const Wave& w : waves) {
          value += w.height[c] * std::cos(2.0 * std::numbers::pi * (w.across * x + w.down * y + w.phase));
        }
        for (const Block& b : blocks) {
          if (x >= b.left && x < b.left + b.width && y >= b.top && y < b.top + b.height) value += b.step[c];
        }
        surface.push_back(std::clamp(value, 0.02, 0.95));
      }
    }
  }
  return surface;
}

// Up to three soft discs on two days of five; the share of the light that they hold back, 0 to 1.
class Clouds {
 public:
  explicit Clouds(Random& random) : discs_(random.uniform() < 0.4 ? 1 + random.below(3) : 0) {
    for (Disc& disc : discs_) {
      disc = {random.uniform(), random.uniform(), 0.1 + 0.2 * random.uniform(), 0.4 + 0.5 * random.uniform()};
    }
  }
  double cover(double x, double y) const {
    double clear = 1.0;
    for (const Disc& d : discs_) {
      const double distance = ((x - d.x) * (x - d.x) + (y - d.y) * (y - d.y)) / (d.radius * d.radius);
      clear *= 1.0 - d.density * std::exp(-distance * distance);
    }
    return 1.0 - clear;
  }

 private:
  struct Disc {
    double x, y, radius, density;
  };
  std::vector<Disc> discs_;
};

}  // namespace

Haze::Haze(const HazeOptions& options) : options_(options) {
  const std::vector<double> city = weather(options.days, 0.8, 0.32, Random(seed_for(options.seed, "city")));
  for (std::int64_t s = 0; s < options.stations; ++s) {
    const std::uint64_t seed = seed_for(options.seed, "station " + std::to_string(s));
    Random place(seed_for(seed, "place"));
    const double north = kReach * (2.0 * place.uniform() - 1.0), east = kReach * (2.0 * place.uniform() - 1.0);
    stations_.push_back({kLatitude + north, kLongitude + east, draw_pm25(city, seed),
                         draw_surface(options.size, Random(seed_for(seed, "surface")))});
  }
}

// H. Koschmieder, "Theorie der horizontalen Sichtweite", 1924:
//   I = L (J exp(-beta) + A (1 - exp(-beta))),   L light, J surface, A airlight, beta the optical thickness
//
// beta = k(t) PM2.5, and k(t) is what makes the season matter: dust swells in humid air, so that a ug/m3 is more than
// twice as thick in summer as in winter (1 + 0.4 against 1 - 0.4). An image shows beta; the same image means a high
// PM2.5 in winter and a low one in summer: PM2.5 = beta(image) / k(t), a function of the image times one of the season.
// The light follows the season too, but says little of it: its peak is another, and it varies from day to day.
std::vector<std::uint8_t> Haze::image(std::int64_t station, std::int64_t day) const {
  const Station& at = stations_[station];
  Random random(seed_for(options_.seed, "image " + std::to_string(station) + " " + std::to_string(day)));
  // PM2.5 is measured at the ground and seen in a column of air: they differ by a tenth.
  const double column = at.pm25[day] * std::exp(0.1 * random.normal());
  const double thickness = kThickness * (1.0 + kHumidSeason * yearly(day, kHumidDay)) * column;
  const double light = 0.8 * (1.0 + kSunSeason * yearly(day, kSunDay) + 0.08 * random.normal());
  const double grey = 1.0 + 0.05 * random.normal();
  std::array<double, 3> through{}, airlight{};
  for (std::size_t c = 0; c < 3; ++c) {
    through[c] = std::exp(-thickness * std::pow(kWavelength[c] / kWavelength[1], -kAngstrom));
    airlight[c] = kAirlight[c] * (grey + 0.01 * random.normal());
  }
  const Clouds clouds(random);
  std::vector<std::uint8_t> pixels(at.surface.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t c = i % 3, place = i / 3, size = static_cast<std::size_t>(options_.size);
    const double x = (static_cast<double>(place % size) + 0.5) / static_cast<double>(size);
    const double y = (static_cast<double>(place / size) + 0.5) / static_cast<double>(size);
    const double cover = clouds.cover(x, y);
    const double hazy = at.surface[i] * through[c] + airlight[c] * (1.0 - through[c]);
    const double seen = light * ((1.0 - cover) * hazy + cover * kCloud) + 0.015 * random.normal();
    pixels[i] = static_cast<std::uint8_t>(std::lround(255.0 * std::clamp(seen, 0.0, 1.0)));
  }
  return pixels;
}

}  // namespace ick
