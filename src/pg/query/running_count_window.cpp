// dp_running_count and dp_running_sum as true window functions.
//
// PostgreSQL itself refuses FILTER and DISTINCT here, ignores the frame, and never restarts the
// state inside a partition. A rescan is a new evaluation: a new release.
//
// The plan chooses the order of tied rows: an index that ends in the bit, or the heap after an
// UPDATE of the true rows, sorts them by the secret. So ties are refused: a row is compared with
// the next one before its release, since a LIMIT may end the stream there. Whether rows tie is
// public, as the rows and their order are.
//
// Below a sum over GROUP BY, the planner's own aggregate counts, partial and parallel as any.
#include <cstdint>

#include "pg/query/streams.hpp"
#include "pg/query/volatility.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/xact.h"
#include "windowapi.h"
}

namespace dp_counter::pg {
namespace {

/// The arguments of dp_running_count, and what its errors call them.
struct Count {
    enum Index { kAddend, kEpsilon, kK, kMechanism, kHorizon, kArguments };
    static constexpr int kSensitivity = -1; ///< 1
    [[noreturn]] static void raise_varying() { raise_not_constant(); }
};

struct CountOfBooleans : Count {
    static std::int64_t addend(const Argument& argument) { return is_true(argument) ? 1 : 0; }
};

struct CountOfBits : Count {
    static std::int64_t addend(const Argument& argument) { return bit_from_bit(argument) ? 1 : 0; }
};

/// The same of dp_running_sum.
struct Sum {
    enum Index { kAddend, kEpsilon, kSensitivity, kHorizon, kK, kMechanism, kArguments };
    static std::int64_t addend(const Argument& argument) { return addend_from_bigint(argument); }
    [[noreturn]] static void raise_varying() {
        raise_not_constant("epsilon, sensitivity, horizon, k and mechanism", "sum");
    }
};

/// Per partition, zeroed by PostgreSQL when one starts.
struct Partition {
    Stream stream;
    bool rows_are_spooled; ///< by WinGetPartitionRowCount
    bool may_vary;         ///< some parameter is neither a constant nor a query parameter
    Request request;
};

Argument current(WindowObject window, int index) {
    Argument argument;
    argument.value = WinGetFuncArgCurrent(window, index, &argument.isnull);
    return argument;
}

template <class Form>
Request read_current_request(WindowObject window) {
    RequestArguments arguments{.epsilon = current(window, Form::kEpsilon),
                               .horizon = current(window, Form::kHorizon),
                               .k = current(window, Form::kK),
                               .mechanism = current(window, Form::kMechanism)};
    if constexpr (Form::kSensitivity >= 0)
        arguments.sensitivity = current(window, Form::kSensitivity);
    return read_request(arguments);
}

/// In dp_running_count(b, 1.0, 1000) the 1000 may be meant as a horizon. k and the number of rows
/// are public. At most once per statement of the client.
void notice_radix(int k, std::int64_t rows) {
    static TimestampTz noticed = 0;
    if (k < rows || noticed == GetCurrentStatementStartTimestamp())
        return;
    noticed = GetCurrentStatementStartTimestamp();
    ereport(NOTICE, (errmsg("k = %d, the radix, is not below the number of rows", k),
                     errhint("If %d is meant as a horizon, write horizon => %d. Without k, the "
                             "best radix is chosen.",
                             k, k)));
}

// Not inlined: keeps the stack frame of the code that runs at every row small.
template <class Form>
pg_noinline void open_partition(WindowObject window, FunctionCallInfo call, Partition* partition) {
    check_volatile_once(call->flinfo);
#if PG_VERSION_NUM >= 190000
    WinCheckAndInitializeNullTreatment(window, false, call); // refuses IGNORE NULLS
#endif
    partition->request = read_current_request<Form>(window);
    for (int i = Form::kEpsilon; i < Form::kArguments; ++i)
        partition->may_vary |= !get_fn_expr_arg_stable(call->flinfo, i);
    if (partition->request.horizon == kUnbounded) {
        partition->request.horizon = WinGetPartitionRowCount(window);
        partition->rows_are_spooled = true;
    }
    partition->stream = open_stream(GetMemoryChunkContext(partition), partition->request);
    if constexpr (Form::kSensitivity < 0) { // of a count k is the third argument
        if (partition->rows_are_spooled && partition->request.radix &&
            !partition->request.mechanism)
            notice_radix(*partition->request.radix, partition->request.horizon);
    }
}

template <class Form>
pg_noinline void check_same_request(WindowObject window, const Partition* partition) {
    Request request = read_current_request<Form>(window);
    if (request.horizon == kUnbounded && partition->rows_are_spooled)
        request.horizon = partition->request.horizon;
    if (!(request == partition->request))
        Form::raise_varying();
}

/// Whether row number `row` of the partition, from 0, is its last. Spools one row more.
template <class Form>
bool is_last(WindowObject window, const Partition* partition, std::int64_t row) {
    if (partition->rows_are_spooled)
        return row + 1 == partition->request.horizon;
    bool is_null = false;
    bool is_out = false; // evaluates an argument at the next row: the cheapest one
    (void)WinGetFuncArgInPartition(window, Form::kEpsilon, 1, WINDOW_SEEK_CURRENT, false, &is_null,
                                   &is_out);
    return is_out;
}

[[noreturn]] pg_noinline void raise_tie() {
    ereport(ERROR,
            (errcode(ERRCODE_CARDINALITY_VIOLATION), errmsg("rows tie in the window's order"),
             errdetail("The order of tied rows could reveal their values."),
             errhint("Give the window an ORDER BY that ends with a public unique key, or count "
                     "by period.")));
}

template <class Form>
Datum running_total(FunctionCallInfo fcinfo) {
    WindowObject window = PG_WINDOW_OBJECT();
    auto* partition =
        static_cast<Partition*>(WinGetPartitionLocalMemory(window, sizeof(Partition)));
    if (partition->stream.noise == nullptr) {
        open_partition<Form>(window, fcinfo, partition);
    } else if (partition->may_vary) {
        check_same_request<Form>(window, partition);
    }
    const std::int64_t row = WinGetCurrentPosition(window);
    if (!is_last<Form>(window, partition, row) && WinRowsArePeers(window, row, row + 1))
        [[unlikely]]
        raise_tie();
    const std::int64_t release = advance(partition->stream, partition->request,
                                         Form::addend(current(window, Form::kAddend)));

    // Lets the tuplestore drop passed rows, unless it holds the whole partition anyway: then
    // trimming costs 40 ns per row once it has spilled.
    constexpr std::int64_t kBatch = 64; // moving the mark at every row costs more
    if (row % kBatch == kBatch - 1 && !partition->rows_are_spooled)
        WinSetMarkPosition(window, row);
    PG_RETURN_INT64(release);
}

} // namespace

DP_FUNCTION(dp_running_count_boolean) {
    return running_total<CountOfBooleans>(fcinfo);
}

DP_FUNCTION(dp_running_count_bit) {
    return running_total<CountOfBits>(fcinfo);
}

DP_FUNCTION(dp_running_sum) {
    return running_total<Sum>(fcinfo);
}

} // namespace dp_counter::pg
