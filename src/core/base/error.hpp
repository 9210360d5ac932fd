// What can go wrong in the core, as exceptions. The core throws, never logs; the adapter catches at
// its wall (src/pg/server/wall.hpp) and turns the fault into an SQLSTATE.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace dp_counter {

enum class Fault {
    parameter, ///< a parameter outside its range, or a combination that has no meaning
    data,      ///< input beyond what was declared (a row past the horizon)
    overflow,  ///< an integer result that its type cannot hold
    corrupt,   ///< stored state that is truncated, altered or of an unknown version
};

/// Message and hint in PostgreSQL's style. Neither ever holds a count, a bit or a noise value.
class Error : public std::runtime_error {
public:
    Error(Fault fault, const std::string& message, std::string hint = {})
        : std::runtime_error(message), fault_(fault), hint_(std::move(hint)) {}

    [[nodiscard]] Fault fault() const noexcept { return fault_; }
    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

private:
    Fault fault_;
    std::string hint_;
};

/// Throws Error (parameter) unless low <= value <= high.
inline void require_range(const char* what, std::int64_t value, std::int64_t low, std::int64_t high,
                          const char* hint = "") {
    if (value < low || value > high)
        throw Error(Fault::parameter,
                    std::string(what) + " must be between " + std::to_string(low) + " and " +
                        std::to_string(high) + ", not " + std::to_string(value),
                    hint);
}

} // namespace dp_counter
