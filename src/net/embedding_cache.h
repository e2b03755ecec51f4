#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace ick {

// What fixed functions make of images, by content: a hash of 128 bits stands for a function and an image (that two of
// 2^40 share one has probability 2^-49). First come stays while there is room. Safe to use from several threads.
class EmbeddingCache {
 public:
  struct Key {
    std::uint64_t first = 0, second = 0;
    bool operator==(const Key&) const = default;
  };
  static Key key(const void* data, std::size_t bytes, const Key& before);  // of all that went before, too
  static Key key(const void* data, std::size_t bytes) { return key(data, bytes, Key()); }

  static constexpr std::size_t kBytes = 256'000'000;
  explicit EmbeddingCache(std::size_t bytes = kBytes) : room_(bytes) {}
  static EmbeddingCache& of_process();

  bool find(const Key& key, std::span<float> to) const;  // false: not there, `to` is as it was
  void keep(const Key& key, std::span<const float> values);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.first; }
  };

  mutable std::mutex mutex_;
  std::unordered_map<Key, std::vector<float>, Hash> known_;
  std::size_t room_;  // bytes left
};

}  // namespace ick
