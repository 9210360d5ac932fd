#include "pg/sources/further_groups.hpp"

#include "pg/persons/columns.hpp"
#include "pg/persons/groups.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/declare_counter.hpp"
#include "pg/steps/stored_state.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/streams_table.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

namespace dp_counter::pg {

namespace {

SourceCounterRow require_groups(Oid counter) {
    SourceCounterRow declared;
    if (!read_source_counter(counter, declared) || declared.by == InvalidAttrNumber)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("counter \"%s\" has no groups", name_of_relation(counter)),
                        errhint("Groups can be added to a counter that was created with by and "
                                "groups.")));
    if (!OidIsValid(declared.source))
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_OBJECT),
                 errmsg("the source of counter \"%s\" was dropped", name_of_relation(counter)),
                 errhint("Its releases remain, but it cannot count anything else.")));
    return declared;
}

/// It would be skipped if it came from a table, as if its rows had a group of their own.
void check_not_others(const SourceCounterRow& declared, const Groups& before,
                      const Groups& written) {
    if (declared.others != 0 && find_group(written, before.declared[declared.others - 1]) != 0)
        ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
                        errmsg("group \"%s\" is the one of all others",
                               TextDatumGetCString(names_of(before)[declared.others - 1]))));
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

void add_groups(Oid counter, const CounterRow& row, const WrittenGroups& added) {
    const SourceCounterRow declared = require_groups(counter);
    check_not_read(added, declared.source);
    const Oid type = column_type(declared.source, declared.by);
    const Groups before = groups_of_counter(counter, row.number, declared.groups, type);
    const Groups written = read_groups(DatumGetArrayTypeP(added.texts.value), type);
    check_not_others(declared, before, written);
    const Groups groups = join_groups(before, written, OidIsValid(added.table));
    const std::int32_t count = groups.count - before.count;
    check_number_of_groups(groups.count);
    const Datum* names = names_of(groups);
    if (type_is_enum(type)) {
        replace_groups(counter, before, groups);
        rename_groups(row.number, names, before.count);
    }
    insert_groups(row.number, before.count + 1, names + before.count, count);
    update_groups(counter, groups.count);
    if (row.cumulative)
        add_streams(row, before.count * declared.measure.streams() + 1,
                    groups.count * declared.measure.streams());
}

} // namespace dp_counter::pg
