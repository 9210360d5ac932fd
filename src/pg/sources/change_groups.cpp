#include "pg/sources/change_groups.hpp"

#include "pg/persons/groups.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/sources/reattach.hpp"
#include "pg/steps/anchored.hpp"
#include "pg/steps/stored_state.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/streams_table.hpp"

namespace dp_counter::pg {

namespace {

Groups require_groups(const OpenCounter& counter) {
    if (!counter.declared || counter.declared->by == InvalidAttrNumber)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("counter \"%s\" has no groups", name_of_relation(counter.view)),
                        errhint("Those of a counter that was created with by and groups can be "
                                "added and dropped.")));
    if (!OidIsValid(counter.declared->source))
        raise_source_dropped(counter.view);
    return groups_of_counter(counter);
}

[[noreturn]] void raise_others(const char* name) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
                    errmsg("group \"%s\" is the one of all others", name)));
}

/// It would be skipped if it came from a table, as if its rows had a group of their own.
void check_not_others(const SourceCounterRow& declared, const Groups& before,
                      const Groups& written) {
    if (declared.others != 0 && find_group(written, before.declared[declared.others - 1]) != 0)
        raise_others(TextDatumGetCString(names_of(before)[declared.others - 1]));
}

std::int32_t running(const Groups& groups) {
    std::int32_t count = 0;
    for (std::int32_t group = 1; group <= groups.count; ++group)
        count += groups.is_dropped(group) ? 0 : 1;
    return count;
}

/// How many groups come before the first one that is not dropped.
std::int32_t first_running(const Groups& groups) {
    std::int32_t first = 0;
    while (first < groups.count && groups.is_dropped(first + 1))
        ++first;
    return first;
}

/// Stores streams, each with noise of its own, and the parameters of the stream `other`.
void add_streams(const CounterRow& row, std::int32_t other, std::int32_t first, std::int32_t last) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter streams", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    for (std::int32_t stream = first; stream <= last; ++stream) {
        CHECK_FOR_INTERRUPTS();
        StreamRow stored;
        read_stream(row.number, other, stored);
        insert_streams(row.number, stream, stream,
                       row.is_anchored ? later_anchored_state(context, row)
                                       : later_state(context, stored.state, row.steps).bytes);
        MemoryContextReset(context); // wipes the states
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

} // namespace

void add_groups(const OpenCounter& counter, const WrittenGroups& added) {
    const Groups before = require_groups(counter);
    const CounterRow& row = counter.row;
    const SourceCounterRow& declared = *counter.declared;
    check_not_read(added, declared.source);
    const Groups written = read_groups(DatumGetArrayTypeP(added.array.value), before.type);
    check_not_others(declared, before, written);
    const Groups groups = join_groups(before, written, OidIsValid(added.table));
    const std::int32_t count = groups.count - before.count;
    check_number_of_groups(groups.count);
    check_number_of_bins(declared.measure, groups.count);
    const Datum* names = names_of(groups);
    if (type_is_enum(before.type)) {
        replace_groups(counter.view, before, groups);
        rename_groups(row.number, names, before.count);
    }
    insert_groups(row.number, before.count + 1, names + before.count, count);
    update_groups(row.number, groups.count);
    const std::int32_t streams = declared.measure.streams();
    if (row.has_streams())
        add_streams(row, first_running(before) * streams + 1, before.count * streams + 1,
                    groups.count * streams);
}

void drop_groups(const OpenCounter& counter, ArrayType* written) {
    const Groups before = require_groups(counter);
    const CounterRow& row = counter.row;
    const SourceCounterRow& declared = *counter.declared;
    const Groups dropped = read_groups(written, before.type);
    const Datum* names = names_of(dropped);
    for (std::int32_t i = 0; i < dropped.count; ++i) {
        CHECK_FOR_INTERRUPTS();
        const std::int32_t group = find_group(before, dropped.declared[i]);
        const char* name = TextDatumGetCString(names[i]);
        if (group == 0)
            ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                            errmsg("counter \"%s\" has no group \"%s\"",
                                   name_of_relation(counter.view), name),
                            errhint("The column groups of dp_counters has its groups.")));
        if (group == declared.others)
            raise_others(name);
        drop_group(row.number, group);
        const std::int32_t streams = declared.measure.streams();
        for (std::int32_t stream = 1; row.has_streams() && stream <= streams; ++stream)
            delete_stream(row.number, (group - 1) * streams + stream);
    }
    if (dropped.count == running(before))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("counter \"%s\" would have no group", name_of_relation(counter.view)),
                 errhint("dp_counter_end ends the counter.")));
    if (declared.active != 0 && dropped.count > 0)
        ereport(NOTICE, (errmsg("who is active in a group that was dropped counts in none until an "
                                "event in a later own window")));
}

} // namespace dp_counter::pg
