#include "pg/sources/add_groups.hpp"

#include "pg/sources/columns.hpp"
#include "pg/sources/declare_counter.hpp"
#include "pg/sources/groups.hpp"
#include "pg/steps/stored_state.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/streams_table.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

namespace dp_counter::pg {

namespace {

SourceCounterRow require_groups(Oid counter) {
    SourceCounterRow declared;
    if (!read_source_counter(counter, declared) || declared.by == InvalidAttrNumber)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("counter \"%s\" has no groups", get_rel_name(counter)),
                        errhint("Groups can be added to a counter that was created with by and "
                                "groups.")));
    if (!OidIsValid(declared.source))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("the source of counter \"%s\" was dropped", get_rel_name(counter)),
                        errhint("Its releases remain, but it cannot count anything else.")));
    return declared;
}

std::int32_t count_of(const ArrayType* groups) {
    return ArrayGetNItems(ARR_NDIM(groups), ARR_DIMS(groups));
}

/// Stores streams, each with noise of its own.
void add_streams(const CounterRow& row, std::int32_t first, std::int32_t last) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter streams", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    for (std::int32_t stream = first; stream <= last; ++stream) {
        CHECK_FOR_INTERRUPTS();
        StreamRow other;
        read_stream(row.number, 1, other);
        insert_streams(row.number, stream, stream,
                       later_state(context, other.state, row.steps).bytes);
        MemoryContextReset(context); // wipes the states
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

} // namespace

void add_groups(Oid counter, const CounterRow& row, ArrayType* added) {
    const SourceCounterRow declared = require_groups(counter);
    if (count_of(added) == 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("groups must not be empty"), errhint("Name the groups to add.")));
    check_number_of_groups(count_of(declared.groups) + count_of(added), row.horizon);
    const Groups before =
        groups_of_counter(counter, declared.groups, column_type(declared.source, declared.by));
    const Groups groups = join_groups(before, read_groups(added, before.type));
    replace_groups(counter, before, groups);
    rename_groups(counter, write_groups(groups));
    if (row.cumulative)
        add_streams(row, before.count * declared.measure.streams() + 1,
                    groups.count * declared.measure.streams());
}

} // namespace dp_counter::pg
