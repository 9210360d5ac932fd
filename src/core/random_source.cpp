#include "core/random_source.hpp"

#include <sodium.h>

namespace dp_counter {

void RandomSource::discard() noexcept {
    sodium_memzero(words_, sizeof words_);
    next_ = kWords;
    bits_ = 0;
    bits_left_ = 0;
}

} // namespace dp_counter
