#include <type_traits>

#include "pg/tables/open_counter.hpp"

#include "pg/server/relations.hpp"
#include "pg/tables/secret_tables.hpp"

namespace dp_counter::pg {

static_assert(std::is_trivially_destructible_v<OpenCounter>);

namespace {

std::optional<OpenCounter> read_open(Oid view, std::int64_t number) {
    OpenCounter counter{view, {}, {}};
    if (number == 0 || !read_counter(number, counter.row))
        return std::nullopt;
    SourceCounterRow declared;
    if (read_source_counter(number, declared))
        counter.declared = declared;
    return counter;
}

} // namespace

std::optional<OpenCounter> find_counter(Oid view) {
    return read_open(view, number_of_counter(view));
}

std::optional<OpenCounter> lock_counter(Oid view) {
    const std::int64_t number = number_of_counter(view);
    if (number != 0)
        lock_number(kCounters, number);
    return read_open(view, number);
}

const OpenCounter& require_counter(const std::optional<OpenCounter>& found) {
    if (!found)
        raise_dropped();
    return *found;
}

const OpenCounter& require_running(const std::optional<OpenCounter>& found) {
    const OpenCounter& counter = require_counter(found);
    if (counter.row.has_ended)
        raise_ended(counter.view, "Its releases remain. To count on, create another counter.");
    return counter;
}

void check_is_here(const OpenCounter& counter) {
    if (!is_here(counter.row.place))
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("counter \"%s\" is in a copy of its database", name_of_relation(counter.view)),
             errdetail("Since its last step the database was restored, copied or upgraded, or a "
                       "standby was promoted. A step that was closed before is published."),
             errhint("If the original releases nothing more, and nobody has seen a step that is "
                     "missing here, call dp_counter_resume. Otherwise end the counter with "
                     "dp_counter_end and create another one.")));
}

} // namespace dp_counter::pg
