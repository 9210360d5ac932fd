#include "pg/sources/source_counter.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/tallies.hpp"
#include "pg/tables/source_counters_table.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "commands/comment.h"
#include "storage/lmgr.h"
}

namespace dp_counter::pg {

void declare_source_counter(Oid counter, std::int32_t number, Numeric epsilon,
                            const SourceDeclaration& declaration) {
    insert_source_counter(counter, declaration.row);
    charge_budget(declaration.source.budget, epsilon, quoted_name(counter), number);
    CreateComments(counter, RelationRelationId, 0, guarantee_of(declaration, text_of(epsilon)));
}

void lock_source_of(Oid counter) {
    SourceCounterRow source;
    if (read_source_counter(counter, source))
        LockRelationOid(source.source, AccessShareLock);
}

void end_source_counter(Oid counter, const CounterRow& row) {
    (void)delete_source_counter(counter);
    delete_tallies(row.number);
    if (row.steps == 0) // nothing was released
        refund_budget(row.number);
}

} // namespace dp_counter::pg
