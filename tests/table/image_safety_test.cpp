#include <cpl_conv.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <climits>
#include <set>

#include "table/image_case.h"

// An image is what is in its file: nothing that the file names, or that lies beside it, is opened.
namespace ick {
namespace {

using Names = std::set<std::string>;

// The names of all files of a folder that are opened while this lives, by anybody.
class Watch {
 public:
  explicit Watch(const std::string& folder) : queue_(::inotify_init1(IN_NONBLOCK)) {
    if (::inotify_add_watch(queue_, folder.c_str(), IN_OPEN) < 0) throw std::runtime_error("inotify");
  }
  ~Watch() { ::close(queue_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Names opened() const {
    Names names;
    alignas(inotify_event) std::array<char, 64 * (sizeof(inotify_event) + NAME_MAX + 1)> events;
    for (ssize_t size; (size = ::read(queue_, events.data(), events.size())) > 0;) {
      for (ssize_t at = 0; at < size;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(events.data() + at);
        if (event->len > 0) names.insert(event->name);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    return names;
  }

 private:
  int queue_;
};

constexpr ImageShape kSmall{1, 10, 10};

TestImage large_image() {
  return {1, 60, 60, [](int, int y, int x) { return 2.0 * (y / 6) + 20.0 * (x / 6); }, GDT_Byte};
}

// Read at a sixth of its size, for which GDAL looks for overviews and masks.
std::vector<float> read_small(const ScratchFolder& folder, const std::string& name) {
  ImageStore store(folder.path());
  const auto found = store.find(table_of("image", {name}), settings_of("cnn(image, size=10, bands=[1])"));
  return read_pixels(store, found.at(0), kSmall);
}

struct Format {
  std::string driver, file, name;
  std::vector<const char*> options = {};
};

std::vector<Format> formats() {
  std::vector<Format> all = {{"GTiff", "a.tif", "a.tif"}, {"PNG", "a.png", "a.png"},
                             {"JPEG", "a.jpg", "a.jpg"},  {"GIF", "a.gif", "a.gif"},
                             {"BMP", "a.bmp", "a.bmp"},   {"PNM", "a.pgm", "a.pgm"},
                             {"netCDF", "a.nc", "a.nc"},  {"netCDF", "b.nc", "NETCDF:b.nc:Band1"}};
  GDALAllRegister();
  if (GDALGetDriverByName("JP2OpenJPEG")) all.push_back({"JP2OpenJPEG", "a.jp2", "a.jp2"});
  return all;
}

// All that GDAL might take for a part of the image lies beside it, and a list of what to fetch.
TEST(ImageSafety, NothingBesideAnImageIsOpened) {
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    const ScratchFolder folder;
    large_image().write(format.driver, folder.file(format.file));
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {  // what its writer put beside it
      if (entry.path().filename() != format.file) std::filesystem::remove(entry.path());
    }
    const std::vector<float> expected = read_small(folder, format.name);
    const std::string stem = format.file.substr(0, format.file.find('.'));
    TestImage other = large_image();
    other.value = [](int, int, int) { return 99.0; };
    for (const std::string ending : {".ovr", ".OVR", ".msk", ".MSK", ".aux"}) {
      for (const std::string& name : {format.file + ending, stem + ending}) {
        other.write("GTiff", folder.file(name));
      }
    }
    for (const std::string& name : {format.file + ".aux.xml", stem + ".aux.xml"}) {
      folder.write(name, "<PAMDataset><Metadata domain=\"OVERVIEWS\"><MDI key=\"OVERVIEW_FILE\">" +
                             folder.file(format.file + ".ovr") + "</MDI></Metadata></PAMDataset>");
    }
    for (const std::string ending : {".tfw", ".wld", ".prj", ".tab", ".IMD", ".RPB", ".hdr", ".xml"}) {
      folder.write(stem + ending, "0.1\n0\n0\n-0.1\n10\n50\n");
    }
    const Watch watch(folder.path());
    EXPECT_EQ(read_small(folder, format.name), expected);
    EXPECT_EQ(watch.opened(), Names{format.file});
  }
}

// GDAL keeps this in the file itself, and opens whatever it names as soon as a smaller version is asked for.
TEST(ImageSafety, AnOverviewElsewhereIsRefused) {
  const ScratchFolder folder, elsewhere;
  TestImage secret = large_image();
  secret.value = [](int, int, int) { return 99.0; };
  secret.write("GTiff", elsewhere.file("secret.tif"));
  secret.write("GTiff", folder.file("beside.tif"));
  for (const std::string& target : {elsewhere.file("secret.tif"), std::string(":::BASE:::beside.tif"),
                                    std::string("/vsicurl/http://localhost:9/a")}) {
    large_image().write("GTiff", folder.file("a.tif"));
    const GDALDatasetH file = GDALOpen(folder.file("a.tif").c_str(), GA_Update);
    GDALSetMetadataItem(file, "OVERVIEW_FILE", target.c_str(), "OVERVIEWS");
    GDALClose(file);
    ASSERT_FALSE(std::filesystem::exists(folder.file("a.tif.aux.xml")));
    ASSERT_NE(folder.read("a.tif").find("OVERVIEW_FILE"), std::string::npos);
    const Watch there(elsewhere.path()), here(folder.path());
    EXPECT_EQ(trouble_of(folder, "a.tif", kSmall, "cnn(image, size=10)"),
              "row 2, \"a.tif\": names \"" + target +
                  "\" as a file with smaller versions of it; other files are not read: save it without, as "
                  "gdal_translate -nomd does");
    EXPECT_EQ(there.opened(), Names{});
    EXPECT_EQ(here.opened(), Names{"a.tif"});
  }
}

// HDF5 has datasets whose numbers are in other files; a netCDF-4 file is an HDF5 file.
TEST(ImageSafety, HdfFilesAreRefused) {
  const ScratchFolder folder;
  const std::string sentence =
      " is an HDF file, as netCDF-4 files are, too: it can draw on other files, so it is not read; save it as netCDF-3 "
      "(nccopy -k classic) or as GeoTIFF (gdal_translate)";
  GDALAllRegister();
  ASSERT_NE(GDALGetDriverByName("netCDF"), nullptr);
  TestImage image = large_image();
  image.options = {"FORMAT=NC4"};
  image.write("netCDF", folder.file("four.nc"));
  folder.write("five.h5", "\x89HDF\r\n\x1a\n" + std::string(100, '\0'));
  folder.write("four.hdf", "\x0e\x03\x13\x01" + std::string(100, '\0'));
  for (const std::string name : {"four.nc", "NETCDF:four.nc:Band1", "NETCDF:\"four.nc\":Band1", "HDF5:four.nc:Band1",
                                 "five.h5", "HDF5:five.h5://x", "four.hdf"}) {
    EXPECT_EQ(trouble_of(folder, name, {1, 60, 60}), "row 2, \"" + name + "\":" + sentence);
  }
  // An HDF5 file may begin with a block of its user's: no library is to look further.
  folder.write("block.nc", std::string(512, ' ') + folder.read("four.nc"));
  EXPECT_EQ(trouble_of(folder, "NETCDF:block.nc:Band1", {1, 60, 60}),
            "row 2, \"NETCDF:block.nc:Band1\": is not a netCDF file, of which a variable could be read");
  EXPECT_EQ(trouble_of(folder, "block.nc", {1, 60, 60}).substr(0, 46),
            "row 2, \"block.nc\": cannot be read as an image:");
  for (const char* const format : {"FORMAT=NC", "FORMAT=NC2"}) {
    image.options = {format};
    image.write("netCDF", folder.file("three.nc"));
    EXPECT_EQ(trouble_of(folder, "three.nc", {1, 60, 60}), "");
  }
}

// Other formats that name files: a text that GDAL takes for a raster must not be one.
TEST(ImageSafety, OtherFormatsAreNotRead) {
  const ScratchFolder folder, elsewhere;
  large_image().write("PNG", elsewhere.file("a.png"));
  const std::string source = elsewhere.file("a.png");
  folder.write(
      "a.vrt",
      "<VRTDataset rasterXSize=\"60\" rasterYSize=\"60\"><VRTRasterBand dataType=\"Byte\" band=\"1\"><SimpleSource>"
      "<SourceFilename>" +
          source + "</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>");
  folder.write("wms.xml",
               "<GDAL_WMS><Service name=\"TMS\"><ServerUrl>http://localhost:9/</ServerUrl></Service></GDAL_WMS>");
  folder.write("a.hdr",
               "ENVI\nsamples = 60\nlines = 60\nbands = 1\ndata type = 1\nheader offset = 0\ninterleave = bsq\n");
  folder.write("a.img", std::string(3600, 'x'));
  large_image().write("HFA", folder.file("hfa.img"));
  const Watch watch(elsewhere.path());
  for (const std::string name : {"a.vrt", "wms.xml", "a.img", "hfa.img"}) {
    const std::string found = trouble_of(folder, name, {1, 60, 60});
    EXPECT_TRUE(found.starts_with("row 2, \"" + name + "\": cannot be read as an image")) << found;
  }
  EXPECT_EQ(watch.opened(), Names{});
}

// A program that uses GDAL itself, in this thread or another, keeps its settings.
TEST(ImageSafety, SettingsOfTheThreadComeBack) {
  const ScratchFolder folder;
  large_image().write("PNG", folder.file("a.png"));
  CPLSetThreadLocalConfigOption("GDAL_PAM_ENABLED", "YES");
  read_small(folder, "a.png");
  EXPECT_STREQ(CPLGetThreadLocalConfigOption("GDAL_PAM_ENABLED", ""), "YES");
  CPLSetThreadLocalConfigOption("GDAL_PAM_ENABLED", nullptr);
  read_small(folder, "a.png");
  for (const char* const name :
       {"GDAL_PAM_ENABLED", "GDAL_DISABLE_READDIR_ON_OPEN", "CPL_VSIL_CURL_ALLOWED_EXTENSIONS"}) {
    EXPECT_EQ(CPLGetConfigOption(name, nullptr), nullptr) << name;
  }
}

// The one thing that is read beside a raster: six numbers that say where it is.
TEST(ImageSafety, APlaceMayStandBesideARaster) {
  const ScratchFolder folder;
  large_image().write("PNG", folder.file("a.png"));
  large_image().write("GTiff", folder.file("b.tif"));
  for (const std::string name : {"a.pgw", "b.tfw"}) folder.write(name, "0.1\n0\n0\n-0.1\n10.05\n49.95\n");
  for (const std::string name : {"a.png", "b.tif"}) {
    ImageStore store(folder.path());
    Table table;
    add_numbers(table, "lat", {49.95, 44.05});  // the first pixel and the last
    add_numbers(table, "lon", {10.05, 15.95});
    const Watch watch(folder.path());
    const auto found = store.find(table, settings_of("cnn(raster=\"" + name + "\", at=(lat, lon), size=1)"));
    EXPECT_EQ(read_pixels(store, found.at(0), {1, 1, 1}), std::vector<float>{0.0f});
    EXPECT_EQ(read_pixels(store, found.at(1), {1, 1, 1}), std::vector<float>{198.0f});
    EXPECT_EQ(watch.opened(), (Names{name, name == "a.png" ? "a.pgw" : "b.tfw"}));
  }
}

}  // namespace
}  // namespace ick
