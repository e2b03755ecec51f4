#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace ick {

// A setting within a sentence, with a value of it where the sentence names one: setting("posterior", "ensemble"). What
// comes back is text with marks that only Message understands.
std::string setting(std::string_view name, std::string_view value = {});

// A sentence for people that may name settings. The library calls them by the names of their fields
// (`posterior=ensemble`); a program says them as its users type them (`--posterior ensemble`).
class Message {
 public:
  using Spelling = std::function<std::string(std::string_view name, std::string_view value)>;

  Message() = default;
  Message(std::string marked) : marked_(std::move(marked)) {}  // implicit: a message is written as text
  Message(const char* marked) : marked_(marked) {}

  std::string text() const;
  std::string spelled(const Spelling& spelling) const;
  const std::string& marked() const { return marked_; }  // to make a longer message of it

 private:
  std::string marked_;
};

}  // namespace ick
