#include <algorithm>
#include <map>

#include "examine/examined.h"

// Learning curves.
namespace ick {

namespace {

using Epochs = std::vector<const EpochRecord*>;

// Of each epoch, of many of some; a line that is broken where another training begins.
Figure epochs_figure(const Epochs& epochs, double EpochRecord::*value, Tone tone) {
  Figure figure;
  figure.x.title = "epoch", figure.aspect = 2.4;
  PlotLayer line;
  line.mark = Mark::line, line.tone = tone;
  const std::size_t step = std::max<std::size_t>(1, epochs.size() / 600);
  for (std::size_t k = 0; k < epochs.size(); k += step) {
    const double number = (*epochs[k]).*value;
    if (!std::isfinite(number)) continue;
    const auto epoch = static_cast<double>(epochs[k]->epoch);
    if (!line.x.empty() && epoch <= line.x.back()) line.x.push_back(line.x.back()), line.y.push_back(std::nan(""));
    line.x.push_back(epoch), line.y.push_back(number);
  }
  figure.layers.push_back(std::move(line));
  return figure;
}

Figure loss_figure(const Epochs& epochs, const std::string& phase, const std::string& title) {
  Figure figure = epochs_figure(epochs, &EpochRecord::loss, Tone::model);
  figure.id = "loss-" + id_text(phase), figure.title = title, figure.y.title = "training loss";
  std::int64_t trainings = 1;
  for (std::size_t k = 1; k < epochs.size(); ++k) trainings += epochs[k]->epoch <= epochs[k - 1]->epoch;
  const double first = epochs.front()->loss, last = epochs.back()->loss, before = epochs[epochs.size() * 3 / 4]->loss;
  figure.caption = fmt::format(
      "It should fall and level off. Here it goes from {:.4g} to {:.4g}{}; over the last quarter of the epochs it "
      "changes by {:+.1f}%.",
      first, last, trainings > 1 ? fmt::format(", in {} trainings that were tried", trainings) : "",
      100.0 * (last - before) / std::abs(before));
  return figure;
}

Figure validation_figure(const Epochs& epochs, const std::string& phase, const std::string& title) {
  Figure figure = epochs_figure(epochs, &EpochRecord::validation, Tone::second);
  figure.id = "validation-" + id_text(phase), figure.title = title, figure.y.title = "score of the validation rows";
  const EpochRecord *best = nullptr, *last = nullptr;
  for (const EpochRecord* each : epochs) {
    if (!std::isfinite(each->validation)) continue;
    last = each;
    if (best == nullptr || each->validation < best->validation) best = each;
  }
  PlotLayer rule;
  rule.mark = Mark::rule, rule.tone = Tone::reference, rule.name = "best epoch";
  rule.x = {static_cast<double>(best->epoch)};
  figure.layers.push_back(std::move(rule));
  figure.caption = fmt::format(
      "A curve that rises while the training loss falls is learning by heart. Here it is best, {:.4g}, at epoch {}",
      best->validation, best->epoch);
  figure.caption += best == last ? ", the last one: more epochs may help."
                    : last->validation > 1.05 * best->validation
                        ? fmt::format(", and ends at {:.4g}: early stopping mattered.", last->validation)
                        : fmt::format(", and ends at {:.4g}, hardly worse.", last->validation);
  return figure;
}

}  // namespace

std::optional<Section> learning_section(const Examined& all) {
  const std::vector<EpochRecord>& history = all.fit.history;
  std::map<std::string, std::vector<const EpochRecord*>> phases;
  for (const EpochRecord& each : history) phases[each.phase].push_back(&each);
  Section section{"learning", "How it was learned", {}};
  for (const auto& [phase, epochs] : phases) {
    if (epochs.size() < 2) continue;
    const std::string of_phase = phases.size() > 1 ? ", phase " + phase : "";
    section.parts.emplace_back(loss_figure(epochs, phase, "Training loss" + of_phase));
    if (std::ranges::any_of(epochs, [](const EpochRecord* each) { return std::isfinite(each->validation); })) {
      section.parts.emplace_back(validation_figure(epochs, phase, "Validation score" + of_phase));
    }
  }
  if (section.parts.empty()) return std::nullopt;
  return section;
}

}  // namespace ick
