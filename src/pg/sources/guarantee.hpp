// What a counter over a source promises, in words and numbers.
#pragma once

#include <cstdint>

#include "pg/budgets/unit.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// What a counter counts, under which budget. Trivial.
struct Promise {
    const SourceCounterRow* row;
    const SourceRow* source;
    const BudgetUnit* unit;
    bool cumulative;
    Numeric epsilon;
    std::int64_t sensitivity;
    std::int32_t block; ///< of box noise, of which one unit changes `sensitivity`; else 0
};

/// Of a counter with a source. It points into all three.
[[nodiscard]] Promise promise_of_counter(const OpenCounter& counter, const SourceRow& source,
                                         const BudgetUnit& unit);

/// The guarantee, in sentences: for whom, the bound, and what other changes of the rows cost
/// (docs/derivation.md, section 12). Costs are rounded up.
[[nodiscard]] char* guarantee_of(const Promise& promise);

/// The COMMENT on the counter's view: the guarantee, and what the bound keeps (kept_events.hpp).
[[nodiscard]] char* comment_of(const Promise& promise);

/// Writes it anew on the views of a source's counters after its owner vouched for more, or a report
/// has released what bounds keep; except where the COMMENT is another one, and with a NOTICE where
/// another transaction has locked the counter. The source is locked.
void restate_guarantees(Oid source, const SourceRow& row);

/// What a release counts, and for which number its interval is.
struct ColumnTexts {
    const char* number;
    const char* covered;
};
[[nodiscard]] ColumnTexts column_texts(const Promise& promise);

} // namespace dp_counter::pg
