#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ick/dataset/trees.h"
#include "ick/net/spec.h"
#include "ick/table/image.h"
#include "ick/table/table.h"

// How a row becomes the numbers that one network reads: pixels first, then columns, then leaves of random trees.
namespace ick {

// value -> (value - mean) / sd
struct Scaling {
  double mean = 0.0, sd = 1.0;
};
// Mean and sd of the values present where `use` is true, or of what `of_row` makes of them; sd 0 when constant.
using OfRow = std::function<double(std::size_t row, double value)>;
Scaling scaling_of(std::span<const double> values, const std::vector<bool>& use, const OfRow& of_row = {});

// A number in place of its rank among the training rows, the normal score z = Phi^-1((rank - 1/2) / n): outliers and
// skewness go, equal values share their mean rank. Between the values kept it is a line, beyond them constant.
struct NormalScores {
  std::vector<double> values, scores;  // ascending, equally long

  double of(double value) const;  // not a number for one
};

// A column as a network reads it: a number (or time) standardised, after normal scores have taken its place where there
// are any; a category as one number per level; a further 0/1 number where training rows had gaps, which are filled with
// the mean. A cycle as sqrt(2) sin(2 pi t / T) and sqrt(2) cos(2 pi t / T) of each of its periods T: of mean zero and
// variance one over a whole period.
struct NetworkColumn {
  ColumnInfo info;
  Scaling scaling;
  bool has_gaps = false;
  std::optional<NormalScores> ranks = {};
  std::vector<double> periods = {};  // of a cycle, in the column's unit

  std::int64_t width() const;  // numbers it becomes
};

// trees(x, n=10, depth=2): for each tree one number per leaf, one for the leaf that the row falls into.
struct TreesColumn {
  std::vector<NetworkColumn> columns;
  std::vector<RandomTree> trees;

  std::int64_t width() const;
};

// Images as a network reads them: of one shape, each channel standardised.
struct NetworkImages {
  ImageSettings settings;
  ImageShape shape;
  std::vector<Scaling> channels;
};

struct NetworkInputs {
  std::vector<NetworkColumn> columns;
  std::vector<TreesColumn> trees;
  std::optional<NetworkImages> image;

  std::int64_t numbers() const;  // how many from columns and trees
  std::int64_t width() const;    // how many in all
  std::vector<ColumnInfo> infos() const;
};

// The images of some rows, to be decoded when they are needed.
struct RowImages {
  std::shared_ptr<const ImageStore> store;
  NetworkImages known;
  at::Tensor number;                                        // (n) in int64, of the store; or one of these
  static constexpr std::int64_t kMissing = -1, kMean = -2;  // no image; none, and the mean of all stands for it

  // Standardised pixels of one image; zeros where there is none. A seed draws an augmentation.
  void load(std::int64_t image, float* to, const Augmentation& augmentation = {}, std::uint64_t seed = 0) const;
};

// On the rows of `table` where `use` is true. `ranked`: normal scores of all columns of numbers. `units` of columns, as
// declared.
NetworkInputs fit_network_inputs(const Table& table, const NetworkPlan& plan, const std::vector<bool>& use,
                                 std::uint64_t seed, bool ranked = false,
                                 const std::map<std::string, std::string>& units = {});

// Which image of the store each of these rows of the table names.
RowImages encode_images(const Table& table, const NetworkImages& images, const std::vector<std::int64_t>& rows);

// The column as the model expects it. A category that came as numbers (or the other way round) is another table.
const Column& same_kind(const Table& table, const ColumnInfo& info);

// Levels that occur in the rows in use; of numbers, their values.
std::vector<std::string> levels_of(const Column& column, const std::vector<bool>& use);

void refuse_text(const Column& column, const std::string& reader);
// A model is kept as JSON, with the names it knows.
void refuse_bytes(const Column& column);

}  // namespace ick
