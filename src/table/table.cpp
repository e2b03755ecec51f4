#include "ick/table/table.h"

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

std::string_view column_type_name(ColumnType type) {
  switch (type) {
    case ColumnType::number:
      return "number";
    case ColumnType::integer:
      return "integer";
    case ColumnType::time:
      return "time";
    case ColumnType::category:
      return "category";
    case ColumnType::text:
      break;
  }
  return "text";
}

const Column* Table::find(std::string_view name) const {
  for (const Column& column : columns) {
    if (column.info.name == name) return &column;
  }
  return nullptr;
}

const Column& Table::column(std::string_view name, std::string_view place) const {
  if (const Column* found = find(name)) return *found;
  const std::vector<std::string> known = names();
  const std::string nearest = did_you_mean(name, known);
  std::string message = std::string(place) + "no column named \"" + std::string(name) + "\"";
  message += !nearest.empty() ? nearest
             : known.empty()  ? "; the table has no columns"
                              : "; the columns are " + join_words(known);
  throw DataError(message);
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> all;
  for (const Column& column : columns) all.push_back(column.info.name);
  return all;
}

}  // namespace ick
