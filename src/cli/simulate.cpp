#include <cpl_vsi.h>
#include <fmt/core.h>
#include <gdal.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/haze.h"
#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/table/time.h"

namespace ick {

namespace {

constexpr double kFirstDay = 17897.0;  // 2019-01-01, in days since 1970

struct SimulateRequest {
  std::string set, out;
  HazeOptions haze;
};

// The bytes of a PNG file of (size, size, 3) pixels.
std::string png(std::vector<std::uint8_t> pixels, std::int64_t size) {
  struct Close {
    void operator()(GDALDatasetH dataset) const { GDALClose(dataset); }
  };
  struct Quiet {  // what GDAL has to say is kept, not printed
    Quiet() { CPLPushErrorHandler(CPLQuietErrorHandler); }
    ~Quiet() { CPLPopErrorHandler(); }
    static std::string text() { return std::string(": ") + CPLGetLastErrorMsg(); }
  };
  using Dataset = std::unique_ptr<void, Close>;
  const std::string place = "/vsimem/ick.png";
  const Quiet messages;
  const int n = static_cast<int>(size);
  const Dataset memory(GDALCreate(GDALGetDriverByName("MEM"), "", n, n, 3, GDT_Byte, nullptr));
  if (!memory || GDALDatasetRasterIO(memory.get(), GF_Write, 0, 0, n, n, pixels.data(), n, n, GDT_Byte, 3, nullptr, 3,
                                     3 * n, 1) != CE_None) {
    throw Error("cannot hold an image in memory" + messages.text());
  }
  Dataset file(GDALCreateCopy(GDALGetDriverByName("PNG"), place.c_str(), memory.get(), 0, nullptr, nullptr, nullptr));
  if (!file) throw Error("cannot write a PNG image" + messages.text());
  file.reset();
  vsi_l_offset count = 0;
  const std::unique_ptr<GByte, decltype(&VSIFree)> bytes(VSIGetMemFileBuffer(place.c_str(), &count, true), &VSIFree);
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(count)};
}

// Not made durable one by one, as StagedFolder::write would: there are thousands, and they can be made again.
void write_image(const StagedFolder& folder, const std::string& name, const std::string& bytes) {
  const std::filesystem::path path = folder.file(name);
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  if (!failure) {
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    file.close();
    if (!file) failure.assign(errno, std::generic_category());
  }
  if (failure) {
    throw Error(fmt::format("cannot write \"{}\": {}; free some space or give another place", name, failure.message()));
  }
}

int run_simulate(const SimulateRequest& request) {
  // An older set is not replaced, as an older model would be: models may have been put beside its table.
  std::error_code none;
  if (std::filesystem::exists(request.out, none) && !std::filesystem::is_empty(request.out, none)) {
    throw UsageError(
        fmt::format("--out: \"{}\" is there already and not empty; give a new or an empty folder", request.out));
  }
  StagedFolder folder(request.out, {});
  const HazeOptions& options = request.haze;
  const Haze haze(options);
  GDALAllRegister();
  std::string table = "image,station,lat,lon,date,day,split,pm25\n";
  std::map<std::string_view, std::int64_t> rows;
  for (std::int64_t s = 0; s < options.stations; ++s) {
    const Haze::Station& station = haze.stations()[s];
    const std::string name = fmt::format("s{:02}", s + 1);
    for (std::int64_t day = 0; day < options.days; ++day) {
      const std::string image = fmt::format("images/{}/{:04}.png", name, day);
      write_image(folder, image, png(haze.image(s, day), options.size));
      const std::string_view split = haze_split(day);
      ++rows[split];
      table += fmt::format("{},{},{:.4f},{:.4f},{},{},{},{:.1f}\n", image, name, station.latitude, station.longitude,
                           time_text(kFirstDay + static_cast<double>(day)), day, split, station.pm25[day]);
    }
  }
  folder.write("haze.csv", table);
  folder.commit();
  fmt::print("{0}/haze.csv: {1} rows ({2} train, {3} validation, {4} test) and images of {5} x {5} pixels\n",
             request.out, options.stations * options.days, rows["train"], rows["validation"], rows["test"],
             options.size);
  return 0;
}

}  // namespace

Command add_simulate(CLI::App& program) {
  auto request = std::make_shared<SimulateRequest>();
  HazeOptions& haze = request->haze;
  CLI::App* app = program.add_subcommand("simulate", "Make a table and images to try models on");
  app->add_option("set", request->set, "haze: fine dust at stations of a city, and images of its haze, for two years")
      ->required()
      ->check(accept_word({"haze"}));
  app->add_option("--out", request->out, "Folder to write to, new or empty")->required();
  const auto number = [&](const char* name, auto& value, const char* text, auto low, auto high) {
    app->add_option(name, value, text)->check(accept_number(low, high))->capture_default_str();
  };
  number("--stations", haze.stations, "Number of stations", 1, 99);
  number("--days", haze.days, "Days from 2019-01-01 on: 365 to train, 135 for validation, the rest for the test", 1,
         10000);
  number("--size", haze.size, "Height and width of the images in pixels", 8, 1024);
  number("--seed", haze.seed, "Seed of everything random", std::uint64_t{0}, ~std::uint64_t{0});
  return {app, [request] { return run_simulate(*request); }};
}

}  // namespace ick
