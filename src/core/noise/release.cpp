#include "core/noise/release.hpp"

#include <stdexcept>

namespace dp_counter {

void Release::throw_foreign() {
    throw std::logic_error("a sampler of another price than the release's");
}

} // namespace dp_counter
