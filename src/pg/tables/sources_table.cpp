#include "pg/tables/sources_table.hpp"

#include "pg/server/relations.hpp"
#include "pg/tables/contributions_table.hpp"
#include "pg/tables/faces.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/xlog.h"
#include "storage/lmgr.h"
#include "utils/array.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kSource, kBudget, kPerson, kAt, kTimeZone, kPersonWise, kWindowWise, kNeverFails };

List* columns_of(ArrayType* stored) {
    Datum* values = nullptr;
    int count = 0;
    deconstruct_array(stored, INT2OID, sizeof(std::int16_t), true, TYPALIGN_SHORT, &values, nullptr,
                      &count);
    List* columns = NIL;
    for (int i = 0; i < count; ++i)
        columns = lappend_int(columns, DatumGetInt16(values[i]));
    return columns;
}

Datum array_of(const List* columns) {
    auto* values = static_cast<Datum*>(palloc(sizeof(Datum) * (list_length(columns) + 1)));
    for (int i = 0; i < list_length(columns); ++i)
        values[i] = Int16GetDatum(static_cast<std::int16_t>(list_nth_int(columns, i)));
    return PointerGetDatum(construct_array(values, list_length(columns), INT2OID,
                                           sizeof(std::int16_t), true, TYPALIGN_SHORT));
}

} // namespace

void lock_source(Oid source, bool exclusive) {
    if (!exclusive && RecoveryInProgress())
        return; // a standby, where nobody takes the other one, and neither can be had
    LockDatabaseObject(secret_relation(kSources.table), source, 0,
                       exclusive ? ExclusiveLock : ShareLock);
}

bool read_source(Oid source, SourceRow& row) {
    return is_view(source) &&
           visit_secret_rows(kSources, {oid_key(source)}, [&](const Datum* values, const bool*) {
               row = {DatumGetInt64(values[kBudget]),
                      face_of(kFacesOfBudgets, DatumGetInt64(values[kBudget])),
                      DatumGetInt16(values[kPerson]),
                      DatumGetInt16(values[kAt]),
                      TextDatumGetCString(values[kTimeZone]),
                      DatumGetBool(values[kPersonWise]),
                      DatumGetBool(values[kWindowWise]),
                      columns_of(DatumGetArrayTypeP(values[kNeverFails]))};
           });
}

List* all_sources() {
    List* sources = NIL;
    visit_secret_rows(kSources, {}, [&](const Datum* values, const bool*) {
        sources = lappend_oid(sources, DatumGetObjectId(values[kSource]));
    });
    return sources;
}

void insert_source(Oid source, const SourceRow& row) {
    insert_secret_row(kSources, {{kSource, ObjectIdGetDatum(source)},
                                 {kBudget, Int64GetDatum(row.budget_number)},
                                 {kPerson, Int16GetDatum(row.person)},
                                 {kAt, Int16GetDatum(row.at)},
                                 {kTimeZone, CStringGetTextDatum(row.time_zone)},
                                 {kPersonWise, BoolGetDatum(row.person_wise)},
                                 {kWindowWise, BoolGetDatum(row.window_wise)},
                                 {kNeverFails, array_of(row.never_fails)}});
}

SourceRow require_source(Oid relation) {
    SourceRow row;
    if (!read_source(relation, row))
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("\"%s\" is not a source", name_of_relation(relation)),
                 errhint("The view dp_sources lists the sources; dp_source_create declares one.")));
    return row;
}

void update_source(Oid source, const SourceRow& row) {
    (void)replace_in_secret_row(kSources, {oid_key(source)},
                                {{kPerson, Int16GetDatum(row.person)},
                                 {kTimeZone, CStringGetTextDatum(row.time_zone)},
                                 {kPersonWise, BoolGetDatum(row.person_wise)},
                                 {kWindowWise, BoolGetDatum(row.window_wise)},
                                 {kNeverFails, array_of(row.never_fails)}});
}

bool delete_source(Oid source) {
    delete_kept(source);
    return delete_secret_rows(kSources, {oid_key(source)});
}

void check_charges_no_source(std::int64_t budget, const char* name) {
    visit_secret_rows(
        kSourcesOfBudget, {number_key(budget, kBudget)}, [&](const Datum* values, const bool*) {
            ereport(ERROR,
                    (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                     errmsg("cannot drop budget %s because a source depends on it", name),
                     errdetail("Source \"%s\" charges it.",
                               name_of_relation(DatumGetObjectId(values[kSource]))),
                     errhint("Use dp_source_drop to make the source an ordinary view again.")));
        });
}

} // namespace dp_counter::pg
