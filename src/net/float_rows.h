#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

// Rows of numbers turned on their side: a chunk of rows is (columns, kRowsApart), so that a register holds one column
// of eight rows. Products with weights then need neither padding of layers nor copies of weights.
namespace ick {

// Rows worked on together. With layers of 128, 32 and 32 units a chunk takes about 0.5 MB, within a second-level cache.
// The same for any number of threads: sums over rows are sums over chunks, in order.
inline constexpr int kChunkRows = 256;

// Numbers from column to column: whole lines of the cache, and no power of two, or the columns would all compete for
// the same few places.
inline constexpr int kRowsApart = kChunkRows + 16;

// Padded to whole lanes.
constexpr int whole_floats(int count) { return (count + 7) / 8 * 8; }

template <class T>
struct LineAligned {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* at, std::size_t) { ::operator delete(at, kLine); }
  bool operator==(const LineAligned&) const { return true; }
};

// Registers read from it never cross a line of the cache.
using FloatColumns = std::vector<float, LineAligned<float>>;
inline FloatColumns float_columns(int columns) { return FloatColumns(static_cast<std::size_t>(columns) * kRowsApart); }

// Where the number of row r and column c is: at[r row + c column].
template <class T>
struct FloatRows {
  T* at = nullptr;
  std::int64_t row = 0, column = 1;

  operator FloatRows<const T>() const { return {at, row, column}; }
};

// rows <= kChunkRows of `from`, and zeros up to whole lanes -> to (columns, kRowsApart)
void turn_in(FloatRows<const float> from, int rows, int columns, float* to);
// from (columns, kRowsApart) -> `to`
void turn_out(const float* from, int rows, int columns, FloatRows<float> to);

}  // namespace ick
