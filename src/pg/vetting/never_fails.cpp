#include "pg/vetting/never_fails.hpp"

#include "pg/vetting/column_origin.hpp"
#include "pg/vetting/never_failing.hpp"
#include "pg/vetting/rewritten_view.hpp"

namespace dp_counter::pg {

const char* why_may_fail(Oid source, const SourceRow& row, const AttrNumber* columns, int count) {
    const Query* view = expanded_view(source);
    const auto why_column_may_fail = [&](AttrNumber column) -> const char* {
        if (column == InvalidAttrNumber || list_member_int(row.never_fails, column))
            return nullptr;
        const char* reason = why_not_column(view, column, why_node_may_fail);
        return reason == nullptr
                   ? nullptr
                   : psprintf("Column \"%s\" depends on %s, which may fail for some rows.",
                              get_attname(source, column, false), reason);
    };
    const char* reason = why_column_may_fail(row.person);
    if (reason == nullptr)
        reason = why_column_may_fail(row.at);
    for (int i = 0; i < count && reason == nullptr; ++i)
        reason = why_column_may_fail(columns[i]);
    if (reason != nullptr || list_member_int(row.never_fails, row.person))
        return reason; // who vouches for the person does for all that each counter evaluates
    reason = why_not_conditions(view, row.never_fails, why_node_may_fail);
    return reason == nullptr
               ? nullptr
               : psprintf(
                     "Which rows the view has depends on %s, which may fail for some rows. Its "
                     "owner vouches for that with column \"%s\".",
                     reason, get_attname(source, row.person, false));
}

} // namespace dp_counter::pg
