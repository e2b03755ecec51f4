#include "examine/examined.h"
#include "ick/base/error.h"
#include "ick/examine/exact_check.h"

// The model beside the exact Gaussian process that it stands for, where that can be computed.
namespace ick {

std::optional<Section> exact_section(const Examined& all) {
  constexpr std::int64_t kMostRows = 300;
  if (all.stored == nullptr || all.whole == nullptr || !all.scored) return std::nullopt;
  const auto* const model = dynamic_cast<const CompositePredictor*>(&all.model);
  if (model == nullptr || model->reads_images() || model->trees != nullptr) return std::nullopt;
  ExactCheck check;
  try {
    check = check_against_exact(*all.stored, *all.whole, kMostRows);
  } catch (const UsageError&) {
    return std::nullopt;  // there is none
  } catch (const DataError&) {
    return std::nullopt;
  }
  const Comparison& c = check.comparison;
  Section section{"exact", "Against the exact Gaussian process", {}};
  TextTable table;
  table.id = "exact", table.header = {"quantity", "value"};
  table.caption = fmt::format(
      "The {} beside the process without features and without networks, with the same kernels' parameters, given {} "
      "training rows{} and compared at {} {}.{}",
      posterior_text(*model), c.training_rows, check.own_rows ? ", all there are" : "", c.rows, check.compared_at,
      model->posterior->engine().trains
          ? " Networks were trained, and on all rows, so that a part of the difference is "
            "what they learned."
          : "");
  const auto add = [&](const std::string& name, Entry entry) {
    table.rows.push_back({words_entry(name), std::move(entry)});
  };
  add("difference of the means (rms)", number_entry(c.mean_difference));
  add("the same in sd of an observation", number_entry(c.relative_difference, 3));
  add("sd of the function over the exact one", number_entry(c.sd_ratio, 3));
  if (c.scored) {
    add("rmse of the model", number_entry(c.model.rmse)), add("rmse of the exact process", number_entry(c.exact.rmse));
    add("nlpd of the model", number_entry(c.model.nlpd)), add("nlpd of the exact process", number_entry(c.exact.nlpd));
  }
  section.parts.emplace_back(std::move(table));
  section.parts.emplace_back(
      Paragraph{c.relative_difference < 0.1
                    ? fmt::format("Means differ by {:.3f} sd of an observation: features and neighbours are enough.",
                                  c.relative_difference)
                    : fmt::format("Means differ by {:.2f} sd of an observation{}.", c.relative_difference,
                                  c.scored && c.model.rmse <= c.exact.rmse
                                      ? ", and the model's errors are no larger"
                                      : "; where the exact one predicts better, more features may help")});
  return section;
}

}  // namespace ick
