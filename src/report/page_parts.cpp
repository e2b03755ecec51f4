#include "report/page_parts.h"

#include <algorithm>

namespace ick::detail {

std::vector<bool> number_columns(const TextTable& table) {
  std::size_t columns = table.header.size();
  for (const std::vector<Entry>& row : table.rows) columns = std::max(columns, row.size());
  std::vector<bool> numbers(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    std::size_t values = 0, words = 0;
    for (const std::vector<Entry>& row : table.rows) {
      if (column >= row.size()) continue;
      const Entry& entry = row[column];
      if (entry.value) ++values;
      if (!entry.value && !entry.text.empty() && entry.text != "-") ++words;
    }
    numbers[column] = values > 0 && values >= words;
  }
  return numbers;
}

bool has_header(const TextTable& table) {
  return std::any_of(table.header.begin(), table.header.end(), [](const std::string& name) { return !name.empty(); });
}

}  // namespace ick::detail
