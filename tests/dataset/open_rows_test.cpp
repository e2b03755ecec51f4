#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/dataset/encoder.h"
#include "ick/model/model.h"
#include "support/image_case.h"
#include "support/table_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

using Bools = std::vector<bool>;

constexpr double kNothing = 0.0;  // bytes that may be held

// Every third row is not in use.
Bools some_of(std::int64_t rows) {
  Bools use(static_cast<std::size_t>(rows), true);
  for (std::size_t i = 2; i < use.size(); i += 3) use[i] = false;
  return use;
}

// encode() of the whole table, and of that the rows in use: what open_rows() must give, held or not.
Dataset expected_rows(const Table& table, const Encoder& encoder, const Bools& use, EncodingNotes* notes) {
  const Dataset all = encode(table, encoder, true, notes);
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < all.size(); ++i) {
    if (use[static_cast<std::size_t>(all.rows[static_cast<std::size_t>(i)])]) index.push_back(i);
  }
  return all.select(at::tensor(index, at::kLong));
}

void expect_same(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_TRUE(at::equal(a.x, b.x));
  EXPECT_TRUE(at::equal(a.y, b.y));
  ASSERT_EQ(a.networks.size(), b.networks.size());
  for (std::size_t i = 0; i < a.networks.size(); ++i) EXPECT_TRUE(at::equal(a.networks[i], b.networks[i]));
  ASSERT_EQ(a.images.size(), b.images.size());
  for (std::size_t i = 0; i < a.images.size(); ++i) {
    ASSERT_EQ(a.images[i].has_value(), b.images[i].has_value());
    if (a.images[i]) {
      EXPECT_TRUE(at::equal(a.images[i]->number, b.images[i]->number));
    }
  }
}

// Whatever can be asked of rows, bit for bit.
void expect_open(const Table& table, const Encoder& encoder) {
  const Bools use = some_of(table.rows);
  EncodingNotes notes, held_notes, open_notes;
  const Dataset rows = expected_rows(table, encoder, use, &notes);
  const Dataset held = open_rows(table, encoder, use, &held_notes),
                open = open_rows(table, encoder, use, &open_notes, kNothing);
  ASSERT_GT(rows.size(), 10);
  ASSERT_TRUE(held.held());
  ASSERT_FALSE(open.held());
  expect_same(rows, held);
  for (const EncodingNotes& each : {held_notes, open_notes}) {
    EXPECT_EQ(each.without_target, notes.without_target);
    EXPECT_EQ(each.with_gaps, notes.with_gaps);
    EXPECT_EQ(each.filled, notes.filled);
    EXPECT_EQ(each.unseen, notes.unseen);
  }

  EXPECT_EQ(open.size(), rows.size());
  EXPECT_EQ(open.rows, rows.rows);
  EXPECT_EQ(open.networks.size(), rows.networks.size());
  EXPECT_EQ(open.block(4096), rows.block(4096));
  EXPECT_TRUE(at::equal(open.targets(), rows.y));
  EXPECT_TRUE(at::equal(open.x_of(3, 5), rows.x.narrow(0, 3, 5)));
  EXPECT_TRUE(open.complete().all().item<bool>());
  const at::Tensor index = at::tensor({7, 2, 2, 9, 0}, at::kLong);
  expect_same(open.select(index), rows.select(index));
  const Dataset part = open.subset(index);
  EXPECT_FALSE(part.held());
  expect_same(part.select(at::tensor({3, 1}, at::kLong)), rows.select(at::tensor({9, 2}, at::kLong)));
  const Batch batch = batch_of(open, 4, 6), other = batch_of(rows, 4, 6);
  EXPECT_TRUE(at::equal(batch.x, other.x));
  EXPECT_TRUE(at::equal(batch.y, other.y));
  for (std::size_t a = 0; a < rows.networks.size(); ++a) {
    EXPECT_TRUE(at::equal(open.inputs(a, index), rows.inputs(a, index)));
    EXPECT_TRUE(at::equal(batch.networks[a], other.networks[a]));
  }
}

// Levels of text and of whole numbers, gaps of a kernel's and of networks' columns, rows without a target.
Table table_with_gaps() {
  Table table = mixed_table(60, 3);
  set_value(table.columns[0], 5, kGap);  // day
  set_value(table.columns[0], 30, kGap);
  set_value(table.columns[1], 7, kGap);   // a
  set_value(table.columns[3], 9, kGap);   // site
  set_value(table.columns[5], 11, kGap);  // y
  return table;
}

EncoderPlan mixed_plan(Gaps gaps) {
  EncoderPlan plan;
  plan.target = "y";
  plan.kernel_columns = {"day", "floor", "b"};
  plan.level_columns = {"floor"};
  plan.networks = {{{"a", "site", "b"}}, {{"b"}, {{{"a", "site"}, {}, 4, 3}}}};
  plan.gaps = gaps;
  plan.seed = 5;
  return plan;
}

TEST(OpenRows, GapsDropped) {
  const Table table = table_with_gaps();
  expect_open(table, fit_encoder(table, mixed_plan(Gaps::drop), some_of(60)));
}

TEST(OpenRows, GapsFilledAndTheLogarithmOfTheTarget) {
  const Table table = table_with_gaps();
  EncoderPlan plan = mixed_plan(Gaps::fill);
  plan.transform = find_transform("log");
  expect_open(table, fit_encoder(table, plan, some_of(60)));
}

TEST(OpenRows, ClassesOfTextAndOfNumbers) {
  const Table table = table_with_gaps();
  for (const std::string target : {"site", "floor"}) {
    EncoderPlan plan;
    plan.target = target;
    plan.kind = TargetKind::classes;
    plan.kernel_columns = {"b"};
    plan.networks = {{{"a"}}};
    expect_open(table, fit_encoder(table, plan, some_of(60)));
  }
}

TEST(OpenRows, Images) {
  const ImageFolder folder;
  Table table = bars_table(folder, 40, 2);
  for (const Gaps gaps : {Gaps::fill, Gaps::drop}) {
    EncoderPlan plan;
    plan.target = "y";
    plan.kernel_columns = {"t"};
    ImageSettings settings;
    settings.columns = {"row"};
    settings.idx = "bars.idx";
    plan.networks = {{{"t"}}, {{"t"}, {}, settings}};
    plan.gaps = gaps;
    expect_open(table, fit_encoder(table, plan, some_of(40)));
    set_value(table.columns[0], 4, kGap);
  }
}

// Blocks of the pass that opens rows end somewhere.
TEST(OpenRows, ManyRows) {
  Table table = mixed_table(20'000, 8);
  set_value(table.columns[0], 8'191, kGap);
  set_value(table.columns[0], 8'192, kGap);
  const Bools use = some_of(table.rows);
  const Encoder encoder = fit_encoder(table, mixed_plan(Gaps::drop), use);
  EncodingNotes notes, open_notes;
  const Dataset rows = expected_rows(table, encoder, use, &notes);
  const Dataset open = open_rows(table, encoder, use, &open_notes, kNothing);
  EXPECT_EQ(open.rows, rows.rows);
  EXPECT_EQ(open_notes.with_gaps, 2);
  EXPECT_TRUE(at::equal(open.targets(), rows.y));
}

TEST(OpenRows, SayWhatIsWrong) {
  Table table = table_with_gaps();
  const Encoder encoder = [&] {
    Encoder fitted = fit_encoder(table, mixed_plan(Gaps::drop), Bools(60, true));
    fitted.gaps = Gaps::refuse;
    return fitted;
  }();
  EXPECT_EQ(message_of<DataError>([&] { open_rows(table, encoder, Bools(60, true), nullptr, kNothing); }),
            message_of<DataError>([&] { encode(table, encoder, true); }));

  EncoderPlan plan;
  plan.target = "site";
  plan.kind = TargetKind::classes;
  plan.networks = {{{"a"}}};
  Bools use(60, true);
  for (std::size_t i = 0; i < 60; ++i) use[i] = table.columns[3].values[i] < 2.0;
  const Encoder classes = fit_encoder(table, plan, use);
  EXPECT_EQ(message_of<DataError>([&] { open_rows(table, classes, Bools(60, true), nullptr, kNothing); }),
            message_of<DataError>([&] { encode(table, classes, true); }));
}

TEST(OpenRows, NoneAtAll) {
  const Table table = mixed_table(10, 1);
  const Encoder encoder = fit_encoder(table, mixed_plan(Gaps::refuse), Bools(10, true));
  const Dataset none = open_rows(table, encoder, Bools(10, false));
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(none.held());
  EXPECT_EQ(none.y.size(0), 0);
}

// What a draw says does not depend on how the places of the others are kept: the definition, written out.
TEST(OpenRows, DrawsAsAShuffleWould) {
  for (const std::int64_t count : {1, 7, 99}) {
    std::vector<std::int64_t> places(100);
    for (std::int64_t i = 0; i < 100; ++i) places[static_cast<std::size_t>(i)] = i;
    Random random(17);
    for (std::int64_t i = 0; i < count; ++i) {
      std::swap(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(i + random.below(100 - i))]);
    }
    places.resize(static_cast<std::size_t>(count));
    std::sort(places.begin(), places.end());
    EXPECT_TRUE(draw_rows(100, count, 17).equal(at::tensor(places, at::kLong)));
  }
}

}  // namespace
}  // namespace ick
