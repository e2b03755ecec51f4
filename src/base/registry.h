#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

// A table of rows by name to which programs of others may add. Rows stay where they are; safe to use from several
// threads.
template <class Row>
class Registry {
 public:
  // `what` a row is, for messages: "likelihood".
  Registry(std::string what, std::deque<Row> rows) : what_(std::move(what)), rows_(std::move(rows)) {}

  std::vector<const Row*> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<const Row*> found;
    for (const Row& row : rows_) found.push_back(&row);
    return found;
  }

  const Row* find(std::string_view name) const {  // null when there is none
    const std::lock_guard lock(mutex_);
    return find_row(name);
  }

  const Row& named(std::string_view name) const {  // UsageError with the nearest name when there is none
    if (const Row* found = find(name)) return *found;
    std::vector<std::string> names;
    for (const Row* row : all()) names.emplace_back(row->name);
    const std::string guess = did_you_mean(name, names);
    throw UsageError("no " + what_ + " named \"" + std::string(name) + "\"" +
                     (guess.empty() ? "; there are " + join_words(names) : guess));
  }

  void add(const Row& row) {  // UsageError when the name is taken
    const std::lock_guard lock(mutex_);
    if (find_row(row.name) != nullptr) {
      throw UsageError("there is a " + what_ + " named \"" + std::string(row.name) + "\" already; give another name");
    }
    rows_.push_back(row);
  }

 private:
  const Row* find_row(std::string_view name) const {
    for (const Row& row : rows_) {
      if (row.name == name) return &row;
      if constexpr (requires { row.alias; }) {
        if (!row.alias.empty() && row.alias == name) return &row;
      }
    }
    return nullptr;
  }

  std::string what_;
  std::deque<Row> rows_;
  mutable std::mutex mutex_;
};

}  // namespace ick
