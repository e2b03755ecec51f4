#include "net/embedding_cache.h"

#include <algorithm>
#include <cstring>

namespace ick {

namespace {

// The end of splitmix64: one-to-one, every bit of the input changes half of the output's.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

EmbeddingCache::Key EmbeddingCache::key(const void* data, std::size_t bytes, const Key& before) {
  Key key = before;
  const auto add = [&](std::uint64_t word) {
    key.first = mix((key.first ^ word) + 0x9e3779b97f4a7c15u);
    key.second = mix((key.second + word) * 0xd1342543de82ef95u + 1u);
  };
  add(bytes);
  const auto* from = static_cast<const char*>(data);
  for (std::uint64_t word = 0; bytes > 0; word = 0) {
    const std::size_t count = std::min(bytes, sizeof word);
    std::memcpy(&word, from, count);
    add(word);
    from += count, bytes -= count;
  }
  return key;
}

EmbeddingCache& EmbeddingCache::of_process() {
  static EmbeddingCache cache;
  return cache;
}

bool EmbeddingCache::find(const Key& key, std::span<float> to) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  if (found == known_.end()) return false;
  std::copy(found->second.begin(), found->second.end(), to.begin());
  return true;
}

void EmbeddingCache::keep(const Key& key, std::span<const float> values) {
  constexpr std::size_t kAround = 96;  // bytes of an entry besides its numbers
  const std::size_t bytes = values.size_bytes() + kAround;
  const std::lock_guard lock(mutex_);
  if (bytes > room_ || !known_.try_emplace(key, values.begin(), values.end()).second) return;
  room_ -= bytes;
}

}  // namespace ick
