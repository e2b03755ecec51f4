#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "ick/table/image.h"
#include "support/table_case.h"

// A folder with small images, and tables that name them.
namespace ick {

class ImageFolder {
 public:
  ImageFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ick-images-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~ImageFolder() { std::filesystem::remove_all(path_); }
  ImageFolder(const ImageFolder&) = delete;
  ImageFolder& operator=(const ImageFolder&) = delete;

  const std::string& path() const { return path_; }

  // Images (n, side, side) as an idx file of bytes.
  void write_idx(const std::string& name, const std::vector<std::uint8_t>& pixels, std::uint32_t side) const {
    std::ofstream file(path_ + "/" + name, std::ios::binary);
    const auto big_endian = [&](std::uint32_t number) {
      for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(number >> shift & 0xff));
    };
    file.write("\0\0\x08\x03", 4);
    big_endian(static_cast<std::uint32_t>(pixels.size()) / (side * side));
    big_endian(side);
    big_endian(side);
    file.write(reinterpret_cast<const char*>(pixels.data()), static_cast<std::streamsize>(pixels.size()));
  }

 private:
  std::string path_;
};

// Bars on a noisy ground: image i is upright or lies, `level` says how bright it is. Columns: row (of bars.idx), t (a
// number), shape ("lying", "upright"), three (classes: dark, lying, upright), y (a number that follows from bar and t).
inline Table bars_table(const ImageFolder& folder, std::int64_t rows, std::uint64_t seed) {
  constexpr std::int64_t kSide = 8;
  Random random(seed_for(seed, "bars"));
  std::vector<std::uint8_t> pixels;
  std::vector<double> row, t, shape, three, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool upright = random.below(2) == 1, dark = random.below(4) == 0;
    const std::int64_t place = 1 + random.below(kSide - 2);
    const double level = dark ? 10.0 : 90.0 + 60.0 * random.uniform();
    for (std::int64_t r = 0; r < kSide; ++r) {
      for (std::int64_t c = 0; c < kSide; ++c) {
        const bool bar = (upright ? c : r) == place;
        pixels.push_back(static_cast<std::uint8_t>(20.0 + 10.0 * random.uniform() + (bar ? level : 0.0)));
      }
    }
    row.push_back(static_cast<double>(i));
    t.push_back(4.0 * random.uniform());
    shape.push_back(upright);
    three.push_back(dark ? 0.0 : upright ? 2.0 : 1.0);
    y.push_back(5.0 + (dark ? 0.0 : upright ? 1.0 : -1.0) * std::sin(1.5 * t.back()) + 0.05 * random.normal());
  }
  folder.write_idx("bars.idx", pixels, kSide);
  Table table = table_of(
      {column_of("row", row), column_of("t", t), column_of("shape", shape, ColumnType::category, {"lying", "upright"}),
       column_of("three", three, ColumnType::category, {"dark", "lying", "upright"}), column_of("y", y)});
  table.images = std::make_shared<ImageStore>(folder.path());
  return table;
}

}  // namespace ick
