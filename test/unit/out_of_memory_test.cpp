// Memory that runs out, at every allocation in turn: bad_alloc comes out, nothing leaks, and what
// is kept between calls still works.
#include <cstdlib>
#include <functional>
#include <new>

#include <gtest/gtest.h>

#include "core/count/mechanism_cache.hpp"
#include "core/count/noise_stream.hpp"
#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace {

thread_local long until_failure = -1; // allocations that still succeed; none counted below zero
thread_local bool stays_failing = false;
thread_local long live = 0;

bool fails_now() noexcept {
    if (until_failure < 0)
        return false;
    if (until_failure > 0) {
        --until_failure;
        return false;
    }
    if (!stays_failing)
        until_failure = -1;
    return true;
}

void* allocate(std::size_t size, std::size_t alignment) {
    if (fails_now())
        throw std::bad_alloc();
    size = (size + alignment) / alignment * alignment; // a multiple, and not zero
    void* memory = std::aligned_alloc(alignment, size);
    if (memory == nullptr)
        throw std::bad_alloc();
    ++live;
    return memory;
}

void release(void* memory) noexcept {
    if (memory != nullptr)
        --live;
    std::free(memory);
}

} // namespace

void* operator new(std::size_t size) {
    return allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    try {
        return allocate(size, alignof(std::max_align_t));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept {
    release(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    release(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    release(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    release(memory);
}

namespace dp_counter {
namespace {

/// Runs `work` again and again, its n-th allocation failing, until none fails. Returns how often it
/// failed.
int fail_everywhere(const std::function<void()>& work) {
    int failures = 0;
    for (const bool stays : {false, true})
        for (long n = 0;; ++n) {
            const long before = live;
            bool failed = false;
            until_failure = n;
            stays_failing = stays;
            try {
                work();
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            until_failure = -1;
            EXPECT_EQ(live, before) << "leaked, allocation " << n;
            if (!failed)
                break;
            ++failures;
        }
    return failures;
}

Request request(std::int64_t horizon, double epsilon, std::optional<Mechanism> mechanism) {
    return {horizon, Epsilon(epsilon), {}, mechanism};
}

constexpr std::optional<Mechanism> kMechanisms[] = {
    Mechanism::subtraction, Mechanism::plain, Mechanism::hat, {}};

TEST(OutOfMemory, LeavesNothingBehindWhenAPlanIsMade) {
    for (const auto& mechanism : kMechanisms) {
        const int failures =
            fail_everywhere([&] { (void)make_mechanism(request(1000, 0.3, mechanism)); });
        // A choice among trees takes no memory.
        EXPECT_EQ(failures > 0, mechanism.value_or(Mechanism::hat) == Mechanism::hat);
    }
}

TEST(OutOfMemory, LeavesNothingBehindWhenASamplerIsSetUp) {
    fail_everywhere([] { DiscreteLaplace({Epsilon(1e-9), 1'125'899}); });
    fail_everywhere([] { DiscreteLaplace({Epsilon(1e9), 1}); });
}

TEST(OutOfMemory, LeavesNothingBehindWhenANameIsRefused) {
    EXPECT_GT(fail_everywhere([] {
                  try {
                      (void)mechanism_from_name("no such mechanism, and a name that is long");
                  } catch (const Error&) {
                  }
              }),
              0);
}

TEST(OutOfMemory, LeavesACacheThatWorks) {
    for (const auto& mechanism : kMechanisms) {
        MechanismCache cache;
        const Request wanted = request(500, 0.7, mechanism);
        int failures = 0;
        for (long n = 0;; ++n, ++failures) {
            until_failure = n;
            stays_failing = false;
            try {
                (void)cache.prepare(wanted);
                until_failure = -1;
                break;
            } catch (const std::bad_alloc&) {
                until_failure = -1;
            }
        }
        EXPECT_GT(failures, 0);
        const PreparedMechanism& prepared = cache.prepare(wanted);
        EXPECT_EQ(prepared.spec().height, make_mechanism(wanted).height);
        const test::Block block = test::block_of(NoiseStream::bytes(prepared));
        NoiseStream* stream = NoiseStream::create(block.get(), prepared);
        Keystream random;
        const Release release(wanted.unit, random);
        for (int t = 1; t <= 500; ++t) // sets up the samplers
            (void)stream->advance(release);
        stream = NoiseStream::create(block.get(), prepared);
        const long before = live;
        for (int t = 1; t <= 500; ++t)
            (void)stream->advance(release);
        EXPECT_EQ(live, before);
    }
}

} // namespace
} // namespace dp_counter
