#include "pg/tables/measure.hpp"

#include <cstring>

#include "pg/tables/secret_tables.hpp"

namespace dp_counter::pg {

namespace {

constexpr const char* kNames[] = {"count", "persons", "sum", "avg", "share"};

} // namespace

const char* name_of(MeasureKind kind) {
    return kNames[static_cast<int>(kind)];
}

MeasureKind measure_named(const char* name) {
    for (std::size_t i = 0; i < lengthof(kNames); ++i)
        if (std::strcmp(kNames[i], name) == 0)
            return static_cast<MeasureKind>(i);
    raise_damaged("the counter's measure is damaged");
}

} // namespace dp_counter::pg
