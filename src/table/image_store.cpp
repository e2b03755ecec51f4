#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>

#include "gdal_image.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/table/image.h"
#include "idx_file.h"
#include "raster.h"

namespace ick {
namespace {

namespace fs = std::filesystem;
using detail::GdalImage;
using detail::IdxFile;
using detail::ImageFile;
using detail::Pixels;
using detail::Raster;

std::string in_quotes(const std::string& text) { return "\"" + text + "\""; }

// What one network reads: settings, and the images found so far.
struct Group {
  ImageSettings settings;
  std::shared_ptr<const IdxFile> idx;    // when all images are in one
  std::shared_ptr<const Raster> raster;  // when all images are patches of it
  std::unordered_map<std::string, std::int64_t> by_name;
  std::unordered_map<std::int64_t, std::int64_t> by_index;  // of the idx file, or the raster's pixel at the centre
};

struct Image {
  const Group* group = nullptr;
  std::int64_t row = 0;    // the first that shows it, from 1
  std::int64_t index = 0;  // within the group's idx file or raster, or its own idx file
  std::string name;        // as the table has it; none in a group with one file
  ImageFile file;
  std::shared_ptr<const IdxFile> idx;
};

// digits.idx3-ubyte[17] -> digits.idx3-ubyte, 17; -1 for a name without a number.
std::pair<std::string, std::int64_t> split_number(const std::string& name) {
  const std::size_t open = name.rfind('[');
  if (!name.ends_with(']') || open == std::string::npos) return {name, -1};
  const std::string digits = name.substr(open + 1, name.size() - open - 2);
  const bool is_number =
      !digits.empty() && digits.size() < 18 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return {name, -1};
  return {name.substr(0, open), std::stoll(digits)};
}

// NETCDF:climate.nc:wind, NETCDF:"climate.nc":wind
ImageFile split_variable(const std::string& name) {
  for (const std::string prefix : {"NETCDF:", "HDF5:"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string rest = name.substr(prefix.size());
    const bool has_quote = rest.starts_with('"');
    const std::size_t end = rest.find(has_quote ? '"' : ':', 1);
    if (end == std::string::npos) break;
    const std::string after = rest.substr(end + has_quote);  // :wind
    return {rest.substr(has_quote, end - has_quote), after.substr(after.starts_with(':'))};
  }
  return {name, ""};
}

// Names of the rows' images; "" where there is none.
std::string name_in(const Column& column, std::size_t row, const std::string& place) {
  if (column.info.type == ColumnType::text) return column.text[row];
  const double code = column.values[row];
  if (std::isnan(code)) return "";
  if (code < 0.0) throw DataError(place + "holds a name that is not known here; read the column as text");
  return column.info.levels[static_cast<std::size_t>(code)];
}

const Column& number_column(const Table& table, const std::string& name, const std::string& what) {
  const Column& column = table.column(name);
  if (column.info.type == ColumnType::number || column.info.type == ColumnType::integer) return column;
  throw DataError("column " + in_quotes(name) + " must be " + what + ", but it is of type " +
                  std::string(column_type_name(column.info.type)));
}

}  // namespace

struct ImageStore::State {
  std::string folder;
  fs::path root;  // the folder without symbolic links; empty until needed
  std::deque<Group> groups;
  std::deque<Image> images;
  std::map<std::string, std::shared_ptr<const IdxFile>> idx_files;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Raster>> rasters;  // by file and variable
  mutable std::shared_mutex mutex;                                                       // of all the above

  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // image, C, H, W
  std::map<Key, std::shared_ptr<const Pixels>> cache;
  std::int64_t cache_bytes = 0, cached_bytes = 0;
  mutable std::mutex cache_mutex;

  ImageFile locate(const std::string& name, const std::string& place);
  std::shared_ptr<const IdxFile> open_idx(const std::string& name, const std::string& place);
  Group& group_of(const ImageSettings& settings);
  std::int64_t add(Image image) {
    images.push_back(std::move(image));
    return std::ssize(images) - 1;
  }
  std::vector<std::int64_t> find_names(const Table& table, Group& group);
  std::vector<std::int64_t> find_numbers(const Table& table, Group& group);
  std::vector<std::int64_t> find_places(const Table& table, Group& group);

  const Image& image(std::int64_t number) const {
    const std::shared_lock lock(mutex);
    return images.at(static_cast<std::size_t>(number));  // stays where it is when others are added
  }
};

ImageFile ImageStore::State::locate(const std::string& name, const std::string& place) {
  std::error_code error;
  if (root.empty()) root = fs::canonical(folder, error);
  if (error) throw DataError("the folder of images, " + in_quotes(folder) + ", cannot be read: " + error.message());
  ImageFile file = split_variable(name);
  const fs::path path = fs::weakly_canonical(root / file.path, error);
  const bool is_good = !error && file.path.find('\0') == std::string::npos;
  if (is_good && std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first != root.end()) {
    throw DataError(place + in_quotes(name) + " leads out of the folder of the table, " + in_quotes(folder) +
                    "; move the file there, or give " + setting("images", "DIR"));
  }
  if (!is_good || !fs::is_regular_file(path, error)) {
    throw DataError(place + "there is no file " + in_quotes(file.path) + " in the folder " + in_quotes(folder));
  }
  file.path = path.string();
  return file;
}

std::shared_ptr<const IdxFile> ImageStore::State::open_idx(const std::string& name, const std::string& place) {
  const std::string path = locate(name, place).path;
  std::shared_ptr<const IdxFile>& file = idx_files[path];
  try {
    if (!file) file = std::make_shared<IdxFile>(path);
  } catch (const DataError& error) {
    throw DataError(place + in_quotes(name) + " " + error.what());
  }
  return file;
}

Group& ImageStore::State::group_of(const ImageSettings& settings) {
  for (Group& group : groups) {
    if (group.settings == settings) return group;
  }
  Group group;
  group.settings = settings;
  if (!settings.idx.empty()) group.idx = open_idx(settings.idx, "idx=: ");
  if (!settings.raster.empty()) {
    const ImageFile file = locate(settings.raster, "raster=: ");
    std::shared_ptr<const Raster>& raster = rasters[{file.path, file.variable}];
    try {
      if (!raster) raster = std::make_shared<Raster>(file);
    } catch (const DataError& error) {
      throw DataError("raster=: " + in_quotes(settings.raster) + " " + error.what());
    }
    group.raster = raster;
  }
  return groups.emplace_back(std::move(group));
}

std::vector<std::int64_t> ImageStore::State::find_names(const Table& table, Group& group) {
  const std::string& name = group.settings.columns.at(0);
  const Column& column = table.column(name);
  if (column.info.type != ColumnType::text && column.info.type != ColumnType::category) {
    throw DataError("column " + in_quotes(name) + " must hold names of image files, but it is of type " +
                    std::string(column_type_name(column.info.type)) +
                    "; numbers of images in an idx file need idx=\"file\"");
  }
  std::vector<std::int64_t> found(static_cast<std::size_t>(table.rows), -1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int64_t row = table.rows_before + static_cast<std::int64_t>(i) + 1;
    const std::string place = "row " + std::to_string(row) + ": column " + in_quotes(name) + ": ";
    const std::string cell = name_in(column, i, place);
    if (cell.empty()) continue;
    const auto known = group.by_name.find(cell);
    if (known != group.by_name.end()) {
      found[i] = known->second;
      continue;
    }
    Image image{&group, row, 0, cell, {}, nullptr};
    const auto [file, number] = split_number(cell);
    if (number >= 0) {
      image.idx = open_idx(file, place);
      image.index = number;
      if (number >= image.idx->count()) {
        throw DataError(place + in_quotes(file) + " has " + std::to_string(image.idx->count()) +
                        " images, counted from 0; there is no image " + std::to_string(number));
      }
    } else {
      image.file = locate(cell, place);
    }
    found[i] = group.by_name[cell] = add(std::move(image));
  }
  return found;
}

std::vector<std::int64_t> ImageStore::State::find_numbers(const Table& table, Group& group) {
  const std::string& name = group.settings.columns.at(0);
  const Column& column = number_column(table, name, "numbers of images in " + in_quotes(group.settings.idx));
  std::vector<std::int64_t> found(static_cast<std::size_t>(table.rows), -1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double number = column.values[i];
    if (std::isnan(number)) continue;
    const std::int64_t row = table.rows_before + static_cast<std::int64_t>(i) + 1;
    if (number != std::floor(number) || number < 0.0 || number >= static_cast<double>(group.idx->count())) {
      throw DataError("row " + std::to_string(row) + ": column " + in_quotes(name) + ": there is no image " +
                      number_text(number) + " in " + in_quotes(group.settings.idx) + ", which has " +
                      std::to_string(group.idx->count()) + ", counted from 0");
    }
    const auto index = static_cast<std::int64_t>(number);
    const auto [place, is_new] = group.by_index.try_emplace(index, -1);
    if (is_new) place->second = add({&group, row, index, "", {}, group.idx});
    found[i] = place->second;
  }
  return found;
}

std::vector<std::int64_t> ImageStore::State::find_places(const Table& table, Group& group) {
  const std::string& name = group.settings.columns.at(0);
  const Numbers& latitude = number_column(table, name, "latitudes in degrees").values;
  const Numbers& longitude = number_column(table, group.settings.columns.at(1), "longitudes in degrees").values;
  for (std::size_t i = 0; i < latitude.size(); ++i) {
    if (!(std::abs(latitude[i]) > 90.0)) continue;  // not for NaN
    throw DataError("row " + std::to_string(table.rows_before + static_cast<std::int64_t>(i) + 1) + ": column " +
                    in_quotes(name) + ": " + number_text(latitude[i]) +
                    " is not a latitude (expected -90 to 90 degrees); at=(...) has the latitude first");
  }
  std::vector<std::int64_t> found = group.raster->locate(latitude.copy(), longitude.copy());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] < 0) continue;
    const auto [place, is_new] = group.by_index.try_emplace(found[i], -1);
    if (is_new) {
      place->second = add({&group, table.rows_before + static_cast<std::int64_t>(i) + 1, found[i], "", {}, nullptr});
    }
    found[i] = place->second;
  }
  return found;
}

ImageStore::ImageStore(std::string folder, std::int64_t cache_bytes) : state_(std::make_unique<State>()) {
  state_->folder = std::move(folder);
  state_->cache_bytes = cache_bytes;
}
ImageStore::~ImageStore() = default;

std::vector<std::int64_t> ImageStore::find(const Table& table, const ImageSettings& settings) {
  const std::unique_lock lock(state_->mutex);
  Group& group = state_->group_of(settings);
  return group.raster ? state_->find_places(table, group)
         : group.idx  ? state_->find_numbers(table, group)
                      : state_->find_names(table, group);
}

namespace {

GdalImage open_file(const ImageFile& file) {
  std::error_code error;
  if (fs::file_size(file.path, error) == 0 && !error) throw DataError("the file is empty");
  return GdalImage(file);
}

Pixels decode(const Image& image, const ImageShape& shape) {
  const ImageSettings& settings = image.group->settings;
  if (image.group->raster) return image.group->raster->patch(image.index, settings.bands, shape);
  if (image.idx) return image.idx->read(image.index, settings, shape);
  return read_image(open_file(image.file), settings, shape);
}

ImageShape shape_of(const Image& image) {
  const ImageSettings& settings = image.group->settings;
  ImageShape shape;
  if (image.group->raster) {
    shape.channels = image.group->raster->channels(settings.bands);
  } else if (image.idx) {
    shape = image.idx->shape(settings.bands);
  } else {
    const GdalImage file = open_file(image.file);
    check_size(file);
    shape = {file.channels(settings.bands), file.height(), file.width(), file.depth()};
  }
  if (settings.height > 0) shape.height = settings.height, shape.width = settings.width;
  return shape;
}

}  // namespace

std::string ImageStore::describe(std::int64_t number) const {
  const Image& image = state_->image(number);
  const ImageSettings& settings = image.group->settings;
  const std::string row = "row " + std::to_string(image.row) + ", ";
  if (image.group->raster) return row + "patch of " + in_quotes(settings.raster);
  if (image.group->idx) return row + "image " + std::to_string(image.index) + " of " + in_quotes(settings.idx);
  return row + in_quotes(image.name);
}

ImageShape ImageStore::shape(std::int64_t image) const {
  try {
    return shape_of(state_->image(image));
  } catch (const DataError& error) {
    throw DataError(describe(image) + ": " + error.what());
  }
}

void ImageStore::read(std::int64_t image, const ImageShape& shape, float* to) const {
  const State::Key key{image, shape.channels, shape.height, shape.width};
  std::shared_ptr<const Pixels> pixels;
  {
    const std::lock_guard lock(state_->cache_mutex);
    const auto kept = state_->cache.find(key);
    if (kept != state_->cache.end()) pixels = kept->second;
  }
  if (pixels) return pixels->copy(to);
  try {
    pixels = std::make_shared<const Pixels>(decode(state_->image(image), shape));
  } catch (const DataError& error) {
    throw DataError(describe(image) + ": " + error.what());
  }
  pixels->copy(to);
  // First come, first kept: epochs see images in ever new orders, in which throwing the oldest out gains nothing.
  const std::lock_guard lock(state_->cache_mutex);
  if (state_->cached_bytes + pixels->memory() > state_->cache_bytes) return;
  if (state_->cache.try_emplace(key, pixels).second) state_->cached_bytes += pixels->memory();
}

std::int64_t ImageStore::cached_bytes() const {
  const std::lock_guard lock(state_->cache_mutex);
  return state_->cached_bytes;
}

}  // namespace ick
