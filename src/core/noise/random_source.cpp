#include "core/noise/random_source.hpp"

#include <sodium.h>

namespace dp_counter {

void RandomSource::discard() noexcept {
    sodium_memzero(words_, sizeof words_);
    next_ = kWords;
}

} // namespace dp_counter
