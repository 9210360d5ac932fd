#include <algorithm>

#include "pg/tables/groups_table.hpp"

#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "utils/datum.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kNumber, kStream, kName, kDropped };

constexpr const char* kMissing = "a group of the counter is missing";

/// What a query knows of a counter, for as long as it runs.
struct KnownNames {
    std::int64_t number;
    std::int32_t count;
    Datum* names;  ///< that of group n is names[n - 1]
    bool* dropped; ///< likewise
    bool has_dropped;
};

struct Group {
    std::int32_t stream;
    bool dropped;
    Datum name;
};

/// The names of all groups of the counter, however many there are. Their rows come in any order
/// where a session ignores system indexes.
void read_all(std::int64_t number, KnownNames& known) {
    Size room = 64;
    Size count = 0;
    auto* groups = static_cast<Group*>(palloc(room * sizeof(Group)));
    visit_secret_rows(kGroupNames, {number_key(number)}, [&](const Datum* values, const bool*) {
        if (count == room) {
            room *= 2;
            groups = static_cast<Group*>(repalloc_huge(groups, room * sizeof(Group)));
        }
        groups[count++] = {DatumGetInt32(values[kStream]), DatumGetBool(values[kDropped]),
                           PointerGetDatum(DatumGetTextPCopy(values[kName]))};
    });
    std::sort(groups, groups + count,
              [](const Group& a, const Group& b) { return a.stream < b.stream; });
    known = {number, static_cast<std::int32_t>(count),
             static_cast<Datum*>(palloc_extended(count * sizeof(Datum), MCXT_ALLOC_HUGE)),
             static_cast<bool*>(palloc_extended(count, MCXT_ALLOC_HUGE)), false};
    for (Size i = 0; i < count; ++i) {
        if (groups[i].stream != static_cast<std::int32_t>(i) + 1)
            raise_damaged(kMissing);
        known.names[i] = groups[i].name;
        known.dropped[i] = groups[i].dropped;
        known.has_dropped = known.has_dropped || groups[i].dropped;
    }
    pfree(groups);
}

} // namespace

void insert_groups(std::int64_t number, std::int32_t first, const Datum* names,
                   std::int32_t count) {
    const NewSecretRows rows = begin_secret_rows(kGroupNames);
    for (std::int32_t i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        add_secret_row(rows, {{kNumber, Int64GetDatum(number)},
                              {kStream, Int32GetDatum(first + i)},
                              {kName, names[i]},
                              {kDropped, BoolGetDatum(false)}});
    }
    end_secret_rows(rows);
}

StoredGroups read_stored_groups(std::int64_t number, std::int32_t count) {
    KnownNames known{};
    read_all(number, known);
    if (known.count != count)
        raise_damaged(kMissing);
    return {known.names, known.has_dropped ? known.dropped : nullptr};
}

void drop_group(std::int64_t number, std::int32_t group) {
    (void)replace_in_secret_row(kGroupNames, {number_key(number), small_key(group, kStream)},
                                {{kDropped, BoolGetDatum(true)}});
}

void rename_groups(std::int64_t number, const Datum* names, std::int32_t count) {
    const Datum* before = read_stored_groups(number, count).names;
    for (std::int32_t i = 0; i < count; ++i)
        if (!datumIsEqual(before[i], names[i], false, -1))
            (void)replace_in_secret_row(
                kGroupNames, {number_key(number), small_key(i + 1, kStream)}, {{kName, names[i]}});
}

/// The name of a group, for views of counters; NULL where there is none. The first call of a query
/// reads the names of all groups of the counter.
DP_FUNCTION(dp_counter_group_name) {
    const std::int64_t number = PG_GETARG_INT64(0);
    const std::int32_t stream = PG_GETARG_INT32(1);
    auto* known = static_cast<KnownNames*>(fcinfo->flinfo->fn_extra);
    if (known == nullptr || known->number != number) {
        fcinfo->flinfo->fn_extra = nullptr;
        if (known != nullptr)
            MemoryContextDelete(GetMemoryChunkContext(known)); // with the names
        MemoryContext names =
            AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "names of groups", ALLOCSET_SMALL_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(names);
        known = static_cast<KnownNames*>(palloc(sizeof(KnownNames)));
        read_all(number, *known);
        fcinfo->flinfo->fn_extra = known;
        MemoryContextSwitchTo(caller);
    }
    if (stream < 1 || stream > known->count)
        PG_RETURN_NULL();
    PG_RETURN_DATUM(known->names[stream - 1]);
}

} // namespace dp_counter::pg
