#include "core/noise/keystream.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/noise/discrete_laplace.hpp"
#include "unit/own_stack.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

/// Whether the object's memory holds this word anywhere.
bool remembers(const Keystream& keystream, std::uint64_t word) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&keystream);
    for (std::size_t i = 0; i + sizeof word <= sizeof keystream; ++i)
        if (std::memcmp(bytes + i, &word, sizeof word) == 0)
            return true;
    return false;
}

TEST(Keystream, NeverRepeats) {
    // 2^18 64-bit words: two equal ones have probability 2^35 / 2^64 < 2e-9.
    Keystream one;
    Keystream two;
    std::vector<std::uint64_t> words;
    for (int i = 0; i < 1 << 17; ++i) {
        words.push_back(one.next64());
        words.push_back(two.next64());
    }
    std::sort(words.begin(), words.end());
    EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

TEST(Keystream, IsUniformBitByBit) {
    // 32 counts of n = 2^20 fair coins; |count - n/2| > 7 sd has probability 2.6e-12 each.
    Keystream keystream;
    constexpr int kDraws = 1 << 20;
    int ones[32] = {};
    for (int i = 0; i < kDraws; ++i) {
        const std::uint32_t word = keystream.next32();
        for (int bit = 0; bit < 32; ++bit)
            ones[bit] += static_cast<int>(word >> bit & 1U);
    }
    for (const int count : ones)
        EXPECT_NEAR(count, kDraws / 2, 7 * 512);
}

TEST(Keystream, ForgetsWhatItHandedOut) {
    Keystream keystream;
    for (int i = 0; i < 1000; ++i) { // crosses refills
        const std::uint32_t first = keystream.next32();
        const std::uint32_t second = keystream.next32();
        EXPECT_FALSE(remembers(keystream, std::uint64_t{second} << 32 | first));
    }
}

/// Whether there is a word that was left in the buffer although a later one is gone.
bool has_gap(const RandomSource& source, std::size_t object) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(&source);
    bool is_wiped = false; // a word after this one
    for (std::size_t i = object / sizeof *words; i-- > sizeof(void*) / sizeof *words;) {
        if (words[i] == 0)
            is_wiped = true;
        else if (is_wiped)
            return true;
    }
    return false;
}

TEST(Keystream, ForgetsTheWordsThatASamplerTakesInOnePiece) {
    // The words are the first thing in the object, behind the pointer to its functions; of the
    // seeded ones none is zero. A top digit of 15 gives words back; small scales often have one.
    for (const double epsilon : {1.0, 1e-3, 1e-9}) {
        const DiscreteLaplace sampler(LaplaceScale{Epsilon(epsilon), 1});
        test::Seeded seeded(11);
        for (int i = 0; i < 2000; ++i) {
            (void)test::draw(sampler, seeded);
            ASSERT_FALSE(has_gap(seeded, 248 * sizeof(std::uint32_t))) << epsilon << " " << i;
        }
    }
}

Keystream* on_stack = nullptr; // what runs there has no arguments

TEST(Keystream, LeavesNothingOnTheStack) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer keeps locals elsewhere";
#endif
    Keystream keystream;
    on_stack = &keystream;
    test::OwnStack stack;
    constexpr static std::uint64_t kKnown = 0x0123456789abcdefU;
    stack.run([] {
        std::uint64_t copies[128];
        std::fill(std::begin(copies), std::end(copies), kKnown);
        asm volatile("" : : "r"(copies) : "memory");
    });
    EXPECT_TRUE(stack.remembers(&kKnown, sizeof kKnown)); // that is, the test can see it
    stack.run([] { (void)on_stack->next32(); });          // refills
    const auto* object = reinterpret_cast<const unsigned char*>(&keystream);
    int found = 0;
    for (std::size_t i = sizeof(void*) + sizeof(std::uint32_t); i + 8 <= sizeof keystream; i += 4) {
        static constexpr unsigned char kZeros[8] = {};
        if (std::memcmp(object + i, kZeros, 4) != 0 && std::memcmp(object + i + 4, kZeros, 4) != 0)
            found += stack.remembers(object + i, 8) ? 1 : 0;
    }
    EXPECT_EQ(found, 0);
}

TEST(Keystream, ForgetsItsKeyAtEveryRefill) {
    Keystream keystream;
    unsigned char before[sizeof keystream];
    std::memcpy(before, static_cast<void*>(&keystream), sizeof before);
    (void)keystream.next32(); // the first refill
    const auto* after = reinterpret_cast<const unsigned char*>(&keystream);
    int kept = 0; // runs of 16 bytes (half a key) that are not zero and are still there
    static constexpr unsigned char zeros[16] = {};
    for (std::size_t i = sizeof before - 32; i + 16 <= sizeof before; ++i)
        for (std::size_t j = 0; j + 16 <= sizeof before; ++j)
            if (std::memcmp(before + i, zeros, 16) != 0 &&
                std::memcmp(before + i, after + j, 16) == 0)
                ++kept;
    EXPECT_EQ(kept, 0);
}

TEST(Keystream, WipesItselfWhenDestroyed) {
    alignas(Keystream) unsigned char storage[sizeof(Keystream)];
    auto* keystream = new (storage) Keystream;
    (void)keystream->next64();
    keystream->~Keystream();
    // What is left is the class's pointer to its functions, and counters below 1000.
    int nonzero = 0;
    for (std::size_t i = sizeof(void*); i < sizeof storage; ++i)
        nonzero += static_cast<volatile unsigned char*>(storage)[i] != 0 ? 1 : 0;
    EXPECT_LE(nonzero, 2);
}

TEST(Keystream, RekeyedChildSharesNothingWithItsParent) {
    Keystream keystream;
    (void)keystream.next32();
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        keystream.rekey(); // what backend_random() does when the process id has changed
        const std::uint64_t word = keystream.next64();
        _exit(write(pipe_ends[1], &word, sizeof word) == sizeof word ? 0 : 1);
    }
    std::uint64_t theirs = 0;
    ASSERT_EQ(read(pipe_ends[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
    int status = 0;
    waitpid(child, &status, 0);
    for (int i = 0; i < 4096; ++i)
        ASSERT_NE(keystream.next64(), theirs);
}

} // namespace
} // namespace dp_counter
