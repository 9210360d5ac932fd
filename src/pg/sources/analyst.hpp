// Declarations by roles that do not own the source: analysts. PostgreSQL's own rights say who may:
// REFERENCES on the columns of the source, INSERT on the budget, CREATE on the schema.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/sources/declare_counter.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// Raises undefined_table if there is no such relation, and insufficient_privilege unless the
/// current user owns it or has REFERENCES on each column that the arguments name; on one column,
/// where they name none. Of a column that does not exist the whole relation's REFERENCES decides.
void check_may_declare(const SourceArguments& arguments);

/// The budget that a counter of the source is charged to: the one named, or else the source's own.
/// Keeps it from being dropped until the transaction ends. Raises insufficient_privilege unless the
/// current user may charge it, wrong_object_type if it is not a budget, and
/// invalid_parameter_value unless it is the source's or within that.
[[nodiscard]] Oid read_charged_budget(const SourceArguments& arguments, const SourceRow& declared);

/// Raises an error with this SQLSTATE if an analyst's counter may fail for some rows, as the view
/// is now. The caller has locked the source.
void check_never_fails(const SourceCounterRow& row, const SourceRow& source, int sqlstate);

/// Raises invalid_parameter_value if an analyst's counter exceeds what the budget charged sets, for
/// a year or, ten times that, from its beginning until now, or begins over a hundred years ago.
void check_limits(const SourceDeclaration& declaration, Numeric epsilon, std::int64_t horizon);

/// Checks all privileges for a counter just declared once more: one may have been revoked while the
/// declaration waited for a lock.
void check_still_may_declare(const SourceArguments& arguments, const SourceDeclaration& declaration,
                             Oid counter);

} // namespace dp_counter::pg
