#pragma once

#include <span>
#include <string_view>

namespace ick {

// A function of the target that the right side of a formula explains: log(y) ~ ..., sqrt(y) ~ ..., logit(y) ~ .... An
// increasing function; predictions, intervals and scores are those of the target itself.
struct Transform {
  std::string_view name;    // "" for the target as it is
  std::string_view domain;  // "positive numbers"
  bool (*admits)(double y);
  double (*forward)(double y);    // z = g(y)
  double (*inverse)(double z);    // the y with g(y) = z, or the nearest there is
  double (*log_slope)(double y);  // log g'(y)
  // Mean and standard deviation of inverse(Z), Z ~ N(mean, sd^2); set in place.
  void (*moments)(double& mean, double& sd);
};

std::span<const Transform> transforms();  // the first is the identity
const Transform* find_transform(std::string_view name);

// "log(y)"; "y" for the identity.
template <class Text>
Text transformed(const Transform& transform, const Text& target) {
  return transform.name.empty() ? target : Text(transform.name) + "(" + target + ")";
}

}  // namespace ick
