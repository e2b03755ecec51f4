#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "ick/predict/composite.h"

// What the tests of model folders share.
namespace ick {

// A folder that lives as long as this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "ick_store_XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

inline void expect_same(const Prediction& a, const Prediction& b) {
  const auto same = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](double p, double q) { return p == q || (std::isnan(p) && std::isnan(q)); });
  };
  EXPECT_TRUE(same(a.mean, b.mean));
  EXPECT_TRUE(same(a.sd, b.sd));
  EXPECT_TRUE(same(a.lower, b.lower));
  EXPECT_TRUE(same(a.upper, b.upper));
  EXPECT_TRUE(same(a.function_sd, b.function_sd));
  EXPECT_EQ(a.support, b.support);
}

}  // namespace ick
