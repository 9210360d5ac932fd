// dp_source_contributions: a private histogram of persons by their number of events, to choose a
// bound from.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/accuracy/kept_share.hpp"

#include "pg/reports/report.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/steps/cells.hpp"
#include "pg/tables/contributions_table.hpp"
#include "pg/worker/serve.hpp"

extern "C" {
#include "access/xact.h"
}

namespace dp_counter::pg {
namespace {

struct Arguments {
    Argument source, name, epsilon, event, most, since, until;
};

constexpr std::int32_t kGreatest = 10000;

/// Units by the number of their events: persons[i] of them have i + 1, the last one more. One unit
/// changes one number by 1.
struct Histogram {
    std::int32_t cells;
    int128* persons;
};

void count_unit(std::int64_t events, void* context) {
    auto& histogram = *static_cast<Histogram*>(context);
    ++histogram.persons[std::min<std::int64_t>(events, histogram.cells) - 1];
}

/// The largest share of all events that each bound up to `most` keeps, from the released numbers:
/// each person of the last, open cell counts as one event more than those of the cell before.
KeptBound* kept_bounds(const Report& report, const ClosedRelease* releases, std::int32_t most) {
    const double scale = report.privacy.scale(1).value();
    const auto cells = static_cast<std::size_t>(most) + 1;
    auto* parts = static_cast<ReleasedPart*>(palloc(sizeof(ReleasedPart) * cells));
    auto* bounds = static_cast<KeptBound*>(palloc(sizeof(KeptBound) * cells));
    for (std::int32_t bound = 1; bound <= most; ++bound) {
        CHECK_FOR_INTERRUPTS();
        for (std::size_t i = 0; i < cells; ++i) {
            const auto events = static_cast<double>(i + 1);
            parts[i] = {static_cast<double>(releases[i].release.count),
                        std::min<double>(events, bound), events};
        }
        bounds[bound - 1] = {bound, kept_share({parts, cells}, scale),
                             GetCurrentTransactionStartTimestamp()};
    }
    return bounds;
}

/// Whether more than a tenth of the persons are in the open cell: then the share would mean
/// nothing.
bool is_open_cell_large(const ClosedRelease* releases, std::int32_t cells) {
    double all = 0;
    for (std::int32_t i = 0; i < cells; ++i)
        all += static_cast<double>(releases[i].release.count);
    return static_cast<double>(releases[cells - 1].release.count) > all / 10;
}

constexpr const char* kColumns =
    "events pg_catalog.int4 NOT NULL, persons pg_catalog.int8 NOT NULL, stddev "
    "pg_catalog.float8 NOT NULL, low pg_catalog.int8 NOT NULL, high pg_catalog.int8 NOT NULL, "
    "kept_at_most pg_catalog.float8, kept_low pg_catalog.float8, kept_high pg_catalog.float8";
constexpr Oid kTypes[] = {INT4OID, INT8OID,   FLOAT8OID, INT8OID,
                          INT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID};

/// Whether the bounds' shares are known, and stored.
bool store(const Report& report, Oid table, const ClosedRelease* releases, std::int32_t cells) {
    const bool is_kept_known = !is_open_cell_large(releases, cells);
    const KeptBound* bounds = is_kept_known ? kept_bounds(report, releases, cells - 1) : nullptr;
    for (std::int32_t i = 0; i < cells; ++i) {
        const ClosedRelease& cell = releases[i];
        const ReleaseInterval interval = clamped_interval(cell.release.count, cell.width);
        const bool is_null = i + 1 == cells || !is_kept_known;
        const KeptShare kept = is_null ? KeptShare{} : bounds[i].share;
        Datum values[] = {Int32GetDatum(i + 1),
                          Int64GetDatum(cell.release.count),
                          Float8GetDatum(cell.release.stddev),
                          Int64GetDatum(interval.low),
                          Int64GetDatum(interval.high),
                          Float8GetDatum(kept.share),
                          Float8GetDatum(kept.low),
                          Float8GetDatum(kept.high)};
        bool nulls[lengthof(kTypes)] = {
            false, false, false, false, false, is_null || std::isnan(kept.share), is_null, is_null};
        insert_report_row(table, values, nulls);
    }
    if (is_kept_known)
        store_kept(report.request->source, report.request->event, bounds, cells - 1);
    return is_kept_known;
}

bool release_histogram(const Report& report) {
    const std::int32_t cells = report.request->most + 1;
    const Oid table = create_report_table(report, kColumns, kTypes, lengthof(kTypes));
    Histogram histogram{
        cells, static_cast<int128*>(allocate_secret(CurrentMemoryContext, sizeof(int128) * cells))};
    read_units(report, InvalidAttrNumber, count_unit, &histogram);
    auto* releases = static_cast<ClosedRelease*>(palloc0(sizeof(ClosedRelease) * cells));
    release_cells(report.privacy, 1, histogram.persons, cells, releases);
    return store(report, table, releases, cells);
}

} // namespace

DP_FUNCTION(dp_source_contributions) {
    const auto arguments = arguments_of<Arguments>(fcinfo);
    check_not_null(arguments.most, "most");
    const std::int32_t most = DatumGetInt32(arguments.most.value);
    check_number("most", most, kGreatest, "It is the largest bound to consider.");
    const ReportCall call(fcinfo, "dp_source_contributions", "dp_contributions_worker", arguments);
    ReportRequest request = begin_report(call);
    request.most = most;
    ask_for_report(call, request);
    PG_RETURN_VOID();
}

DP_WORKER(dp_contributions_worker) {
    serve(main_argument, [](const char* request, Size /*size*/) {
        serve_report(request, "contributions", release_histogram);
    });
}

} // namespace dp_counter::pg
