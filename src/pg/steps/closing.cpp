#include <algorithm>
#include <optional>

#include "pg/steps/closing.hpp"

#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"
#include "pg/steps/anchored.hpp"
#include "pg/steps/bins.hpp"
#include "pg/steps/boxes.hpp"
#include "pg/steps/cells.hpp"
#include "pg/steps/stored_state.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/streams_table.hpp"

namespace dp_counter::pg {

namespace {

/// The steps of one stream; totals holds what was counted in each of them.
StoredState close_stream(MemoryContext context, const CounterRow& row, SecretRowsInOrder& streams,
                         std::int32_t stream, int128* totals, std::int64_t steps,
                         ClosedRelease* closed) {
    StreamRow stored;
    next_stream(streams, stream, stored);
    for (std::int64_t s = 0; s < steps; ++s)
        totals[s] = stored.total += totals[s];
    const StoredState next = close_steps(context, stored.state, row.steps, totals, steps, closed);
    stored.state = next.bytes;
    update_stream(streams, stored);
    return next;
}

/// The steps of a stream with noise in blocks, which releases each of them by itself.
void close_blocks(MemoryContext context, const CounterRow& row, const PrivacyUnit& unit,
                  SecretRowsInOrder& streams, std::int32_t stream, const int128* counts,
                  std::int64_t steps, ClosedRelease* closed) {
    StreamRow stored;
    next_stream(streams, stream, stored);
    if (row.is_anchored) {
        stored.state = release_anchored(context, anchored_law_of(row), stored.state, row.steps,
                                        counts, steps, closed);
    } else {
        const BoxLaw law = run([&] { return BoxLaw(unit, row.block); });
        stored.state = release_boxes(context, law, stored.state, row.steps, counts, steps, closed);
    }
    update_stream(streams, stored);
}

/// From the releases of its two numbers at one step; of totals, with what was asked for.
ClosedAverage average_of(const PrivacyUnit& unit, const std::optional<StoredState>& totals,
                         const CounterRelease& above, const CounterRelease& below) {
    return {below.count, totals ? share_of_totals(totals->request, above, below)
                                : share_of_cells(unit, above.count, below.count)};
}

} // namespace

void close_streams(CounterRow& row, const Counted& counted) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter steps", ALLOCSET_DEFAULT_SIZES);
    MemoryContext stream_context =
        AllocSetContextCreate(context, "dp_counter stream", ALLOCSET_DEFAULT_SIZES);
    const auto steps = static_cast<std::size_t>(counted.steps);
    const auto numbers = static_cast<std::size_t>(counted.numbers);
    const bool is_average = numbers == 2 && !counted.has_bins;
    auto* closed = static_cast<ClosedRelease*>(MemoryContextAllocExtended(
        context, numbers * steps * sizeof(ClosedRelease), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    auto* averages = static_cast<ClosedAverage*>(MemoryContextAllocExtended(
        context, (is_average ? steps : 0) * sizeof(ClosedAverage), MCXT_ALLOC_HUGE));
    auto* totals = static_cast<int128*>(allocate_secret(context, steps * sizeof(int128)));
    const TimestampTz released_at = std::max(counted.called, row.released_at);
    const PrivacyUnit unit = privacy_of(row);
    std::optional<StoredState> next; // of totals
    MemoryContext caller = MemoryContextSwitchTo(context);
    const NewSecretRows releases = begin_releases();
    SecretRowsInOrder streams{};
    if (row.has_streams())
        streams = begin_streams(row.number);
    MemoryContextSwitchTo(stream_context);
    for (std::int32_t stream = 1; stream <= counted.groups * counted.numbers; ++stream) {
        CHECK_FOR_INTERRUPTS();
        const auto cell = static_cast<std::size_t>(stream - 1);
        const std::size_t number = cell % numbers;
        if (counted.dropped != nullptr && counted.dropped[cell / numbers])
            continue;
        for (std::size_t s = 0; s < steps; ++s)
            totals[s] =
                counted.cells[s * static_cast<std::size_t>(counted.groups) * numbers + cell];
        ClosedRelease* const of_number = closed + number * steps;
        if (row.cumulative)
            next = close_stream(stream_context, row, streams, stream, totals, counted.steps,
                                of_number);
        else if (row.block != 0)
            close_blocks(stream_context, row, unit, streams, stream, totals, counted.steps,
                         of_number);
        else if (!row.is_in_totals)
            release_cells(unit, row.steps + 1, totals, counted.steps, of_number);
        else if (number == 0)
            release_bins(stream_context, run([&] { return BinsLaw(unit, counted.numbers); }),
                         row.steps + 1, counted.cells + cell,
                         static_cast<std::size_t>(counted.groups) * numbers, counted.steps, closed);
        if (is_average && number == 1)
            for (std::size_t s = 0; s < steps; ++s)
                averages[s] = average_of(unit, next, closed[s].release, closed[steps + s].release);
        if (!is_average || number == 1)
            insert_releases(releases, row.number, released_at,
                            {static_cast<std::int32_t>(cell / numbers) + 1,
                             counted.has_bins ? static_cast<std::int32_t>(number) + 1 : 0,
                             counted.steps, is_average ? closed : of_number,
                             is_average ? averages : nullptr, counted.periods, counted.least});
        MemoryContextReset(stream_context); // wipes the state
    }
    MemoryContextSwitchTo(caller);
    if (row.has_streams())
        end_rows_in_order(streams);
    end_secret_rows(releases);
    row.steps += counted.steps;
    row.released_at = released_at;
    row.stddev = 0; // the widest
    for (std::size_t number = 0; number < numbers; ++number)
        row.stddev = std::max(row.stddev, closed[(number + 1) * steps - 1].release.stddev);
    update_counter(next ? &next->spec : nullptr, row);
    MemoryContextDelete(context);
}

} // namespace dp_counter::pg
