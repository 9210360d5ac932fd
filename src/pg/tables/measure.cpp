#include "pg/tables/measure.hpp"

#include <cstring>

#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "utils/array.h"
}

namespace dp_counter::pg {

namespace {

constexpr const char* kNames[] = {"count", "persons", "sum", "avg", "share", "histogram", "active"};

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

Datum array_of(std::span<const std::int64_t> bins) {
    auto* values = static_cast<Datum*>(palloc(bins.size() * sizeof(Datum)));
    std::transform(bins.begin(), bins.end(), values,
                   [](std::int64_t end) { return Int64GetDatum(end); });
    return PointerGetDatum(construct_array(values, static_cast<int>(bins.size()), INT8OID,
                                           sizeof(std::int64_t),
                                           sizeof(Datum) == sizeof(std::int64_t), TYPALIGN_DOUBLE));
}

std::span<const std::int64_t> bins_in(Datum array) {
    ArrayType* copy = DatumGetArrayTypePCopy(array); // without NULL it is plain numbers
    return {reinterpret_cast<const std::int64_t*>(ARR_DATA_PTR(copy)),
            static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(copy), ARR_DIMS(copy)))};
}

} // namespace dp_counter::pg
