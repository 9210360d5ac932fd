// Values of other roles' domains: where a query makes one, the domain's checks run with the rights
// of whoever runs the query.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
#include "nodes/pg_list.h"
}

namespace dp_counter::pg {

class MadeDomains {
public:
    explicit MadeDomains(Oid owner) : owner_{owner} {}

    /// A domain in the type, as "domain c.zip", of a role that could not act as the owner, also one
    /// without checks, which can be added later, or made by the checks of a domain of the owner's;
    /// null if there is none, or a call has named it.
    const char* in_type(Oid type);

    /// The same among the types of the values that the node makes, not those below it, and of those
    /// that it hands to a function which is not PostgreSQL's, and may make more; values of tables
    /// are there already. Or what hides the type.
    const char* in_node(const Node* node);

private:
    const char* in_types(const List* types);
    const char* in_checks(Oid domain);
    const char* in_call(Oid function, const List* arguments, Oid result);
    const char* in_aggregate(Oid function, const List* arguments, Oid result);
    const char* in_columns(Oid type);
    const char* in_filled(Oid function, const List* arguments);

    Oid owner_;
    List* seen_ = NIL;
};

} // namespace dp_counter::pg
