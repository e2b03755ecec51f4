#pragma once

#include <gdal.h>
#include <gtest/gtest.h>
#include <ogr_srs_api.h>
#include <stdlib.h>

#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/table/image.h"
#include "table/scratch.h"

// Folders with images in them, written by GDAL, and tables that name them.
namespace ick {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ick_images_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = std::filesystem::canonical(name).string();
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string read(const std::string& name) const {
    std::ifstream stream(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::string path_;
};

using PixelAt = std::function<double(int channel, int row, int column)>;  // channels from 0

struct TestImage {
  int channels = 3, height = 5, width = 7;
  PixelAt value = [](int c, int y, int x) { return 3.0 + 70 * c + 11 * y + 2 * x; };
  GDALDataType type = GDT_Byte;
  std::vector<const char*> options = {};
  std::function<void(GDALDatasetH)> change = [](GDALDatasetH) {};  // before it is written

  // Throws when GDAL cannot.
  void write(const std::string& driver, const std::string& path) const {
    GDALAllRegister();
    const GDALDatasetH memory = GDALCreate(GDALGetDriverByName("MEM"), "", width, height, channels, type, nullptr);
    for (int c = 0; c < channels; ++c) {
      std::vector<double> plane;
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) plane.push_back(value(c, y, x));
      }
      if (GDALRasterIO(GDALGetRasterBand(memory, c + 1), GF_Write, 0, 0, width, height, plane.data(), width, height,
                       GDT_Float64, 0, 0) != CE_None) {
        throw std::runtime_error("GDALRasterIO");
      }
    }
    change(memory);
    std::vector<const char*> list = options;
    list.push_back(nullptr);
    const GDALDatasetH copy = GDALCreateCopy(GDALGetDriverByName(driver.c_str()), path.c_str(), memory, 0,
                                             const_cast<char**>(list.data()), nullptr, nullptr);
    GDALClose(memory);
    if (!copy) throw std::runtime_error("GDALCreateCopy " + path);
    GDALClose(copy);
  }
};

inline Table table_of(const std::string& name, const std::vector<std::string>& cells) {
  Table table;
  table.rows = std::ssize(cells);
  table.columns.push_back({{name, ColumnType::text, "", {}}, {}, cells, 0});
  return table;
}

inline void add_numbers(Table& table, const std::string& name, const std::vector<double>& values) {
  table.rows = std::ssize(values);
  table.columns.push_back({{name, ColumnType::number, "", {}}, values, {}, 0});
}

inline ImageSettings settings_of(const std::string& call) {
  Call parsed = parse_expression(call).call;
  return take_image_settings(parsed);
}

inline std::vector<float> read_pixels(const ImageStore& store, std::int64_t image, const ImageShape& shape) {
  std::vector<float> pixels(static_cast<std::size_t>(shape.numbers()), -12345.0f);
  store.read(image, shape, pixels.data());
  return pixels;
}

inline void expect_pixels(const std::vector<float>& found, const ImageShape& shape, const PixelAt& expected,
                          double tolerance = 0.0) {
  ASSERT_EQ(std::ssize(found), shape.numbers());
  std::size_t i = 0;
  for (int c = 0; c < shape.channels; ++c) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x, ++i) {
        ASSERT_NEAR(found[i], expected(c, y, x), tolerance) << "channel " << c << " row " << y << " column " << x;
      }
    }
  }
}

// What goes wrong when the file of this name is looked for and read.
inline std::string trouble_of(const ScratchFolder& folder, const std::string& name, const ImageShape& shape,
                              const std::string& call = "cnn(image)") {
  ImageStore store(folder.path());
  return message_of<DataError>(
      [&] {
        const Table table = table_of("image", {"", name});
        read_pixels(store, store.find(table, settings_of(call)).at(1), shape);
      },
      folder.path());
}

// Big endian, as idx files are.
template <typename Bits>
std::string big_endian_text(Bits bits) {
  std::string text;
  for (std::size_t i = sizeof(Bits); i > 0; --i) text += static_cast<char>(bits >> (8 * (i - 1)) & 0xff);
  return text;
}

inline std::string idx_text(int type, const std::vector<std::uint32_t>& dimensions, const std::string& numbers) {
  std::string text = {0, 0, static_cast<char>(type), static_cast<char>(dimensions.size())};
  for (const std::uint32_t each : dimensions) text += big_endian_text(each);
  return text + numbers;
}

}  // namespace ick
