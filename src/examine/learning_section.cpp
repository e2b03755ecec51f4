#include <algorithm>
#include <map>

#include "examine/examined.h"

// Learning curves.
namespace ick {

std::optional<Section> learning_section(const Examined& all) {
  const std::vector<EpochRecord>& history = all.fit.history;
  std::map<std::string, std::vector<const EpochRecord*>> phases;
  for (const EpochRecord& each : history) phases[each.phase].push_back(&each);
  Section section{"learning", "How it was learned", {}};
  for (const auto& [phase, epochs] : phases) {
    if (epochs.size() < 2) continue;
    Figure figure;
    figure.id = "learning-" + id_text(phase);
    figure.title = "Learning curve" + (phases.size() > 1 ? ": " + phase : "");
    figure.x.title = "epoch", figure.y.title = "loss";
    PlotLayer loss, validation;
    loss.mark = validation.mark = Mark::line;
    loss.tone = Tone::model, loss.name = "training loss";
    validation.tone = Tone::second, validation.name = "validation score";
    const std::size_t step = std::max<std::size_t>(1, epochs.size() / 600);
    const auto add = [](PlotLayer& to, std::int64_t epoch, double value) {
      const bool begins_again = !to.x.empty() && static_cast<double>(epoch) <= to.x.back();  // another training
      if (begins_again) to.x.push_back(to.x.back()), to.y.push_back(std::nan(""));
      to.x.push_back(static_cast<double>(epoch)), to.y.push_back(value);
    };
    const EpochRecord* best = nullptr;
    std::int64_t trainings = 1;
    for (std::size_t k = 0; k < epochs.size(); ++k) {
      const EpochRecord& each = *epochs[k];
      trainings += k > 0 && each.epoch <= epochs[k - 1]->epoch;
      if (std::isfinite(each.validation) && (best == nullptr || each.validation < best->validation)) best = &each;
      if (k % step != 0) continue;
      add(loss, each.epoch, each.loss);
      if (std::isfinite(each.validation)) add(validation, each.epoch, each.validation);
    }
    figure.layers.push_back(loss);
    figure.caption = fmt::format(
        "Both curves should fall and level off; a validation curve that rises while the other falls is learning by "
        "heart. The training loss goes from {:.4g} to {:.4g}",
        epochs.front()->loss, epochs.back()->loss);
    if (trainings > 1) figure.caption += fmt::format(", in {} trainings that were tried", trainings);
    if (best != nullptr) {
      figure.layers.push_back(validation);
      PlotLayer rule;
      rule.mark = Mark::rule, rule.tone = Tone::reference, rule.name = "best epoch";
      rule.x = {static_cast<double>(best->epoch)};
      figure.layers.push_back(rule);
      const EpochRecord& last = *epochs.back();
      figure.caption +=
          fmt::format("; the validation score is best, {:.4g}, at epoch {}", best->validation, best->epoch);
      figure.caption += best == &last ? ", the last one: more epochs may help"
                        : last.validation > 1.02 * best->validation && last.epoch > best->epoch
                            ? fmt::format(" and ends at {:.4g}: early stopping mattered", last.validation)
                            : "";
    }
    figure.caption += ".";
    section.parts.emplace_back(std::move(figure));
  }
  if (section.parts.empty()) return std::nullopt;
  return section;
}

}  // namespace ick
