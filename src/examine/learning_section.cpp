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
    std::size_t best = epochs.size();
    for (std::size_t k = 0; k < epochs.size(); ++k) {
      const EpochRecord& each = *epochs[k];
      if (std::isfinite(each.validation) && (best == epochs.size() || each.validation < epochs[best]->validation))
        best = k;
      if (k % step != 0) continue;
      loss.x.push_back(static_cast<double>(each.epoch)), loss.y.push_back(each.loss);
      if (!std::isfinite(each.validation)) continue;
      validation.x.push_back(static_cast<double>(each.epoch)), validation.y.push_back(each.validation);
    }
    figure.layers.push_back(loss);
    figure.caption = fmt::format(
        "Both curves should fall and level off; a validation curve that rises while the other falls is learning by "
        "heart. The training loss goes from {:.4g} to {:.4g} in {} epochs",
        epochs.front()->loss, epochs.back()->loss, epochs.size());
    if (best < epochs.size()) {
      figure.layers.push_back(validation);
      PlotLayer rule;
      rule.mark = Mark::rule, rule.tone = Tone::reference, rule.name = "best epoch";
      rule.x = {static_cast<double>(epochs[best]->epoch)};
      figure.layers.push_back(rule);
      const double last = epochs.back()->validation, least = epochs[best]->validation;
      figure.caption +=
          fmt::format(", the validation score is best at epoch {} with {:.4g}", epochs[best]->epoch, least);
      figure.caption +=
          3 * (best + 1) > 2 * epochs.size() + 1
              ? fmt::format(", near the end{}",
                            best + 1 == epochs.size() ? ": it was still getting better, more epochs may help" : "")
          : last > least ? ": from there on it got worse, and that epoch is the one kept"
                         : "";
    }
    figure.caption += ".";
    section.parts.emplace_back(std::move(figure));
  }
  if (section.parts.empty()) return std::nullopt;
  return section;
}

}  // namespace ick
