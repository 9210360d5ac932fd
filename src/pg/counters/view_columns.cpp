#include "pg/counters/view_columns.hpp"

extern "C" {
#include "lib/stringinfo.h"
}

namespace dp_counter::pg {

namespace {

constexpr ViewColumn kStep{"step", "bigint", "step"};
constexpr ViewColumn kReleasedAt{"released_at", "timestamp with time zone", "released_at"};

/// A bound of the share, between lower and upper.
const char* scaled(const Measure& measure, const char* share) {
    return psprintf("pg_catalog.float8pl(%lld, pg_catalog.float8mul(%lld, %s))",
                    static_cast<long long>(measure.lower),
                    static_cast<long long>(measure.largest()), share);
}

/// Both numbers together are the events times upper - lower. At the ends of a bigint it stays
/// there.
const char* number_of_events(const Measure& measure) {
    return psprintf("pg_catalog.int8(pg_catalog.round(GREATEST(LEAST(pg_catalog.numeric_div("
                    "pg_catalog.numeric_add(count, below), %lld), 9223372036854775807), "
                    "-9223372036854775808)))",
                    static_cast<long long>(measure.largest()));
}

const char* average(const Measure& measure, const char* extension) {
    return psprintf("%s.dp_avg(count, below, (%lld)::pg_catalog.int8, (%lld)::pg_catalog.int8)",
                    extension, static_cast<long long>(measure.lower),
                    static_cast<long long>(measure.upper));
}

/// The lower end of the bin.
const char* end_of_bin(std::span<const std::int64_t> bins) {
    StringInfoData sql;
    initStringInfo(&sql);
    for (const std::int64_t end : bins)
        appendStringInfo(&sql, "%s%lld", sql.len == 0 ? "('{" : ",", static_cast<long long>(end));
    appendStringInfoString(&sql, "}'::pg_catalog.int8[])[bin]");
    return sql.data;
}

} // namespace

int view_columns(const SourceDeclaration* source, const char* extension, ViewColumn* columns) {
    int count = 0;
    const auto add = [&](const ViewColumn& column) { columns[count++] = column; };
    for (int i = 0; source != nullptr && i < source->column_count; ++i)
        add(source->columns[i]);
    const MeasureKind kind = source != nullptr ? source->row.measure.kind : MeasureKind::count;
    if (kind == MeasureKind::histogram)
        add({"bin", "bigint", end_of_bin(source->row.measure.bins)});
    add(kStep);
    add(kReleasedAt);
    if (kind == MeasureKind::avg || kind == MeasureKind::share) {
        const Measure& measure = source->row.measure;
        add({name_of(kind), "double precision", average(measure, extension)});
        add({"low", "double precision", scaled(measure, "share_low")});
        add({"high", "double precision", scaled(measure, "share_high")});
        add({"count", "bigint", number_of_events(measure)});
        add({"above", "bigint", "count"});
        add({"below", "bigint", "below"});
        return count;
    }
    add({kind == MeasureKind::sum ? "sum" : "count", "bigint", "count"});
    add({"stddev", "double precision", "stddev"});
    add({"low", "bigint", "low"});
    add({"high", "bigint", "high"});
    return count;
}

} // namespace dp_counter::pg
