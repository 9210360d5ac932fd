#include "pg/server/wall.hpp"

#include <cstdio>
#include <new>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

namespace {

int sqlstate_of(Fault fault) noexcept {
    switch (fault) {
    case Fault::parameter:
        return ERRCODE_INVALID_PARAMETER_VALUE;
    case Fault::data:
        return ERRCODE_DATA_EXCEPTION;
    case Fault::overflow:
        return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
    case Fault::corrupt:
        return ERRCODE_DATA_CORRUPTED;
    }
    return ERRCODE_INTERNAL_ERROR;
}

template <std::size_t size>
void copy(char (&to)[size], const char* from) noexcept {
    snprintf(to, size, "%s", from); // PostgreSQL's own; it never raises
}

} // namespace

void throw_if_interrupted() {
    bool is_pending = QueryCancelPending != 0 || ProcDiePending != 0;
#if PG_VERSION_NUM >= 170000
    is_pending = is_pending || TransactionTimeoutPending != 0;
#endif
    if (is_pending && InterruptHoldoffCount == 0 && CritSectionCount == 0) [[unlikely]]
        throw Interrupted{};
}

void Failure::capture() noexcept {
    copy(hint, "");
    try {
        throw;
    } catch (const Error& error) {
        sqlstate = sqlstate_of(error.fault());
        copy(message, error.what());
        copy(hint, error.hint().c_str());
    } catch (const Interrupted&) {
        sqlstate = ERRCODE_QUERY_CANCELED;
        copy(message, "canceling statement due to user request");
    } catch (const std::bad_alloc&) {
        sqlstate = ERRCODE_OUT_OF_MEMORY;
        copy(message, "out of memory");
    } catch (const std::exception& error) {
        sqlstate = ERRCODE_INTERNAL_ERROR;
        snprintf(message, sizeof message, "unexpected failure in dp_counter: %s", error.what());
    } catch (...) {
        sqlstate = ERRCODE_INTERNAL_ERROR;
        copy(message, "unexpected failure in dp_counter: unknown exception");
    }
}

void Failure::raise() const {
    if (sqlstate == ERRCODE_QUERY_CANCELED)
        CHECK_FOR_INTERRUPTS(); // says why: a cancel, a timeout, a shutdown
    ereport(ERROR,
            (errcode(sqlstate), errmsg("%s", message), hint[0] != '\0' ? errhint("%s", hint) : 0));
}

} // namespace dp_counter::pg
