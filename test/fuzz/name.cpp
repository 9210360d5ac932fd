#include <string>

#include "core/count/mechanism_spec.hpp"
#include "fuzz/input.hpp"

namespace dp_counter::test {

void fuzz_name(Bytes bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    try {
        require(mechanism_name(mechanism_from_name(text)) == std::string(text),
                "a known name names its mechanism");
    } catch (const Error& error) {
        require(error.fault() == Fault::parameter, "parameters fail as parameters");
    }
}

} // namespace dp_counter::test
