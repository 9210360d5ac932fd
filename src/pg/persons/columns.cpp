#include "pg/persons/columns.hpp"

#include "pg/server/plain_value.hpp"
#include "pg/server/relations.hpp"

namespace dp_counter::pg {

Oid column_type(Oid view, AttrNumber column) {
    const Oid type = get_atttype(view, column);
    if (!OidIsValid(type))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                        errmsg("column %d of source \"%s\" does not exist", column,
                               name_of_relation(view))));
    return type;
}

Oid column_collation(Oid view, AttrNumber column) {
    Oid type = InvalidOid;
    Oid collation = InvalidOid;
    std::int32_t modifier = 0;
    get_atttypetypmodcoll(view, column, &type, &modifier, &collation);
    return collation;
}

AttrNumber read_column(Oid relation, const Argument& argument, const char* parameter) {
    check_not_null(argument, parameter,
                   psprintf("Name a column of \"%s\".", name_of_relation(relation)));
    const char* name = TextDatumGetCString(argument.value);
    const AttrNumber column = get_attnum(relation, name);
    if (column <= 0)
        ereport(
            ERROR,
            (errcode(ERRCODE_UNDEFINED_COLUMN),
             errmsg("%s: column \"%s\" of \"%s\" does not exist", parameter, name,
                    name_of_relation(relation)),
             errhint("Name a column of the view. For an expression, add a column to the view.")));
    return column;
}

AttrNumber read_event_column(Oid source, const Argument& argument) {
    if (argument.isnull)
        return InvalidAttrNumber;
    const AttrNumber column = read_column(source, argument, "event");
    if (column_type(source, column) != BOOLOID)
        ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                        errmsg("event must be of type boolean, not %s",
                               format_type_be(column_type(source, column))),
                        errhint("Add a boolean column to the view: diagnosis = 'flu' AS flu.")));
    return column;
}

AttrNumber read_group_column(Oid source, const Argument& argument) {
    const AttrNumber column = read_column(source, argument, "by");
    if (!is_group_type(column_type(source, column), column_collation(source, column)))
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("by must be of type boolean, smallint, integer, bigint, uuid, text, "
                        "varchar, bytea or an enum, not %s",
                        format_type_be(column_type(source, column))),
                 errhint("Cast the column in the view. Text needs a deterministic collation.")));
    return column;
}

} // namespace dp_counter::pg
