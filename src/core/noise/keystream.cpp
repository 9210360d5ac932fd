#include "core/noise/keystream.hpp"

#include <cstring>

#include <sodium.h>

namespace dp_counter {

Keystream::~Keystream() {
    wipe();
}

void Keystream::rekey() {
    static_assert(kKeyBytes == crypto_stream_chacha20_KEYBYTES);
    discard();
    randombytes_buf(key_, sizeof key_);
}

void Keystream::wipe() noexcept {
    discard();
    sodium_memzero(key_, sizeof key_);
}

void Keystream::refill(std::uint32_t* words) {
    // The nonce may stay zero: no key is ever used for a second stream.
    static constexpr unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
    unsigned char stream[kKeyBytes + kWords * sizeof(std::uint32_t)];
    crypto_stream_chacha20(stream, sizeof stream, nonce, key_);
    std::memcpy(key_, stream, kKeyBytes);
    std::memcpy(words, stream + kKeyBytes, kWords * sizeof(std::uint32_t));
    sodium_memzero(stream, sizeof stream);
}

} // namespace dp_counter
