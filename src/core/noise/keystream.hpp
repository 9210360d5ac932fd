// The cryptographic generator: libsodium's ChaCha20 with fast key erasure.
#pragma once

#include "core/noise/random_source.hpp"

namespace dp_counter {

/// A ChaCha20 keystream keyed from the operating system (randombytes_buf). Every refill spends the
/// first 32 bytes of its own output on the next key, so a stolen key reveals nothing about words
/// already used ("fast key erasure", Bernstein 2017).
///
/// One object serves one process: a copy made by fork() would repeat the stream, so the owner makes
/// a new one, or calls rekey(), in the child. Call sodium_init() before the first object is made.
class Keystream final : public RandomSource {
public:
    Keystream() { rekey(); }
    ~Keystream();

    /// Takes a fresh key from the operating system and discards what is buffered.
    void rekey();

    /// Erases key and buffer. The object must be rekeyed before it is read again.
    void wipe() noexcept;

private:
    static constexpr std::size_t kKeyBytes = 32;

    void refill(std::uint32_t* words) override;

    unsigned char key_[kKeyBytes];
};

} // namespace dp_counter
