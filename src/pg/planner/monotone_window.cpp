// dp_monotone: the non-decreasing path nearest to a partition's releases.
//
// Post-processing: it reads releases alone, so nothing here is secret. The path at a row depends on
// later rows too: the first row reads the partition to its end, then each row takes its part.
#include <algorithm>
#include <climits>
#include <cstdint>

#include "core/accuracy/isotonic_regression.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "windowapi.h"
}

namespace dp_counter::pg {
namespace {

/// Per partition, zeroed by PostgreSQL when one starts.
struct Path {
    const IsotonicBlock* next; ///< null before the first row
    std::int64_t left;         ///< rows that the block before it has yet to serve
    double value;              ///< of that block
};

std::int64_t released_at(WindowObject window, std::int64_t row) {
    Argument released{};
    bool is_out = false;
    released.value = WinGetFuncArgInPartition(window, 0, static_cast<int>(row), WINDOW_SEEK_HEAD,
                                              false, &released.isnull, &is_out);
    check_not_null(released, "released", "Exclude rows without a release in WHERE.");
    return DatumGetInt64(released.value);
}

/// Takes 24 bytes for each block of the path, of which there are as many as rows at worst.
IsotonicBlock* find_path(WindowObject window, MemoryContext memory) {
    constexpr std::int64_t kMostRows = INT_MAX; // as the window API numbers them
    const std::int64_t rows = WinGetPartitionRowCount(window);
    if (rows > kMostRows)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("a path of more than %d releases is not supported", INT_MAX)));
    std::size_t room = static_cast<std::size_t>(std::min<std::int64_t>(rows, 1024));
    std::size_t count = 0;
    auto* blocks =
        static_cast<IsotonicBlock*>(MemoryContextAllocHuge(memory, room * sizeof(IsotonicBlock)));
    for (std::int64_t row = 0; row < rows; ++row) {
        CHECK_FOR_INTERRUPTS();
        if (count == room) {
            room = std::min(2 * room, static_cast<std::size_t>(rows));
            blocks =
                static_cast<IsotonicBlock*>(repalloc_huge(blocks, room * sizeof(IsotonicBlock)));
        }
        count = extend_isotonic_path(blocks, count, released_at(window, row));
    }
    return blocks;
}

} // namespace

DP_FUNCTION(dp_monotone) {
    WindowObject window = PG_WINDOW_OBJECT();
    if (!WindowObjectIsValid(window)) // called by an operator, which takes any function
        ereport(ERROR, (errcode(ERRCODE_WINDOWING_ERROR),
                        errmsg("window function dp_monotone requires an OVER clause")));
#if PG_VERSION_NUM >= 190000
    WinCheckAndInitializeNullTreatment(window, false, fcinfo); // refuses IGNORE NULLS
#endif
    auto* path = static_cast<Path*>(WinGetPartitionLocalMemory(window, sizeof(Path)));
    if (path->next == nullptr)
        path->next = find_path(window, GetMemoryChunkContext(path));
    if (path->left == 0) {
        path->left = path->next->count();
        path->value = path->next->mean();
        ++path->next;
    }
    --path->left;
    PG_RETURN_FLOAT8(path->value);
}

} // namespace dp_counter::pg
