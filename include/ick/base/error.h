#pragma once

#include <stdexcept>

#include "ick/base/message.h"

namespace ick {

// Every failure the library reports is one of three, each a whole sentence: where, what was found, what was expected,
// what to do. The program turns them into exit codes 2, 3 and 4. what() names settings as the library does; message()
// lets a program spell them in its own way.
class Error : public std::runtime_error {
 public:
  explicit Error(Message message) : std::runtime_error(message.text()), message_(std::move(message)) {}
  const Message& message() const { return message_; }

 private:
  Message message_;
};

// The request is wrong: a formula, an option, a value out of its range.
class UsageError : public Error {
 public:
  using Error::Error;
};

// The data are wrong: a missing column, a cell that is not a number.
class DataError : public Error {
 public:
  using Error::Error;
};

// The user asked to stop; what there was has been kept.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// Another of the processes that train together is gone; the fit can be resumed from its checkpoint.
class RankLost : public Error {
 public:
  using Error::Error;
};

// The computation cannot go on: not positive definite, not finite.
class NumericError : public Error {
 public:
  using Error::Error;
};

}  // namespace ick
