// Calls into the core that may throw, made safe for the backend.
#pragma once

#include <optional>
#include <type_traits>

#include "core/base/error.hpp"

namespace dp_counter::pg {

/// Thrown out of a long run of the core when a cancel or a shutdown waits. After a guarded call
/// that failed with it, raise() handles the interrupt.
struct Interrupted {};

/// Throws Interrupted if CHECK_FOR_INTERRUPTS would not return: the core's checkpoint.
void throw_if_interrupted();

/// What a guarded call left behind when it failed: plain memory, so that ereport may longjmp over
/// it. Uninitialized until capture() fills it.
struct Failure {
    int sqlstate;
    char message[256];
    char hint[256];

    /// Of the exception that is being handled.
    void capture() noexcept;

    /// Raises the failure as a PostgreSQL error: the interrupt's own if that was the reason.
    [[noreturn]] void raise() const;
};

/// Runs the core function `call`. Returns false, with the reason in `failure`, if it threw; the
/// exception object is gone by then. `call` must not call PostgreSQL.
template <class Call>
[[nodiscard]] inline bool guarded(Failure& failure, Call&& call) noexcept {
    try {
        call();
        return true;
    } catch (...) {
        failure.capture();
        return false;
    }
}

/// Runs the core function `call` as guarded() does, raises what it throws and returns its answer,
/// of a trivially destructible type: raising does not unwind.
template <class Call>
auto run(Call&& call) {
    using Answer = decltype(call());
    Failure failure;
    if constexpr (std::is_void_v<Answer>) {
        if (!guarded(failure, call)) [[unlikely]]
            failure.raise();
    } else {
        static_assert(std::is_trivially_destructible_v<Answer>);
        std::optional<Answer> answer;
        if (!guarded(failure, [&] { answer.emplace(call()); })) [[unlikely]]
            failure.raise();
        return *answer;
    }
}

} // namespace dp_counter::pg
