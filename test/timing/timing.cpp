// Does the time of a draw tell the value drawn, or the time of a step its bit? Welch's t-test over
// interleaved classes, as in dudect (Reparaz, Balasch, Verbauwhede 2017): |t| stays below 4.5 where
// there is nothing to see, and grows with the square root of the number of measurements where there
// is.
//
// usage: timing [DRAWS]     per scale; 2,000,000. Exit status 1 if some |t| exceeds 4.5.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sodium.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "core/count/mechanism_cache.hpp"
#include "core/count/noise_stream.hpp"
#include "core/noise/keystream.hpp"

using namespace dp_counter;

namespace {

std::uint64_t now() {
#ifdef __x86_64__
    unsigned core = 0;
    _mm_lfence();
    const std::uint64_t ticks = __rdtscp(&core);
    _mm_lfence();
    return ticks;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

struct Measurement {
    std::int64_t value;
    std::uint64_t ticks;
};

/// Calls step(value) `count` times. The value is what choose() says, unmeasured, or else what step
/// returns.
template <class Choose, class Step>
std::vector<Measurement> measure(std::size_t count, Choose choose, Step step) {
    std::vector<Measurement> all(count);
    for (Measurement& one : all) {
        one.value = choose();
        const std::uint64_t begin = now();
        one.value = step(one.value);
        one.ticks = now() - begin;
    }
    return all;
}

/// Mean and variance of one class, step by step (Welford).
struct Moments {
    double n = 0;
    double mean = 0;
    double squares = 0;

    void add(double x) {
        ++n;
        const double delta = x - mean;
        mean += delta / n;
        squares += delta * (x - mean);
    }
    [[nodiscard]] double error() const { return squares / (n - 1) / n; } // of the mean, squared
};

/// The greatest |t| between the values in and out of a class, with the slowest measurements left
/// out: they are interrupts, and too few and too long for the means to be normal.
template <class Class>
double greatest_t(const std::vector<Measurement>& all, Class in) {
    std::vector<std::uint64_t> ticks;
    for (const Measurement& one : all)
        ticks.push_back(one.ticks);
    std::sort(ticks.begin(), ticks.end());
    double greatest = 0;
    for (const double kept : {0.999, 0.99, 0.9, 0.5}) {
        const std::uint64_t limit =
            ticks[static_cast<std::size_t>(kept * static_cast<double>(ticks.size() - 1))];
        Moments classes[2];
        for (const Measurement& one : all)
            if (one.ticks <= limit)
                classes[in(one.value) ? 1 : 0].add(static_cast<double>(one.ticks));
        const double error = std::sqrt(classes[0].error() + classes[1].error());
        if (classes[0].n >= 1000 && classes[1].n >= 1000 && error > 0)
            greatest = std::max(greatest, std::abs(classes[1].mean - classes[0].mean) / error);
    }
    return greatest;
}

constexpr double kSuspicious = 4.5;

/// A line of the table; returns how often |t| is too great, which has to be so twice: of hundreds
/// some are, by chance.
template <class Run>
int report(const char* what, Run run) {
    const std::vector<Measurement> all = run();
    std::vector<std::int64_t> sizes;
    for (const Measurement& one : all)
        sizes.push_back(std::abs(one.value));
    std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 2, sizes.end());
    const std::int64_t median = sizes[sizes.size() / 2];
    int suspicious = 0;
    std::printf("%-34s", what);
    const auto tell = [&](auto in) {
        double t = greatest_t(all, in);
        if (t > kSuspicious)
            t = std::min(t, greatest_t(run(), in));
        suspicious += t > kSuspicious ? 1 : 0;
        std::printf(" %8.1f", t);
    };
    tell([=](std::int64_t z) { return std::abs(z) > median; });
    tell([=](std::int64_t z) { return std::abs(z) > 4 * median; });
    tell([](std::int64_t z) { return z == 0; });
    tell([](std::int64_t z) { return z < 0; });
    tell([](std::int64_t z) { return z % 2 != 0; });
    tell([](std::int64_t z) { return std::abs(z) % 16 >= 8; });
    std::printf("\n");
    std::fflush(stdout);
    return suspicious;
}

} // namespace

int main(int argc, char** argv) {
    if (sodium_init() < 0)
        return 2;
    const std::size_t draws = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2000000;
    const auto nothing = [] { return std::int64_t{0}; };
    Keystream random;
    int suspicious = 0;
    std::printf("%zu measurements a line, greatest |t| between the values in a class and the "
                "others\n\n%-34s %8s %8s %8s %8s %8s %8s\n",
                draws, "", "large", "huge", "zero", "negative", "odd", "digit>7");
    for (const double scale : {1.0, 3.0, 30.0, 300.0, 1e4, 1e6, 1e9}) {
        const DiscreteLaplace sampler({Epsilon(scale > 1 ? 1 / scale : 1), 1});
        const Release release(sampler.scale().epsilon, random);
        const auto draw = [&](std::int64_t) { return release.draw(sampler); };
        (void)measure(draws / 20, nothing, draw); // warm
        char name[64];
        (void)std::snprintf(name, sizeof name, "draw, scale %g", scale);
        suspicious += report(name, [&] { return measure(draws, nothing, draw); });
    }

    // A step of a stream, by its secret bit ("odd"): a coin decides it outside of the measured
    // time.
    MechanismCache cache;
    const PreparedMechanism& prepared =
        cache.prepare({1 << 30, Epsilon(1), 19, Mechanism::subtraction});
    std::vector<std::max_align_t> block(NoiseStream::bytes(prepared) / sizeof(std::max_align_t) +
                                        1);
    NoiseStream* stream = NoiseStream::create(block.data(), prepared);
    const Release begun(prepared.spec().unit, random);
    Progress progress{};
    Keystream coins;
    const auto coin = [&] { return static_cast<std::int64_t>(coins.next32() & 1U); };
    const auto step = [&](std::int64_t bit) {
        progress.record(bit != 0);
        volatile std::int64_t release = progress.release(stream->advance(begun));
        (void)release;
        return bit;
    };
    suspicious += report("step, by its bit (odd)", [&] { return measure(draws, coin, step); });

    // What a leak looks like: the same distribution by counting failures.
    const auto counting = [&](std::int64_t) {
        std::int64_t z = 0;
        while (random.next32() < 0xF7B0F5A3U) // exp(-1/30)
            ++z;
        return (random.next32() & 1U) != 0 ? z : -z;
    };
    const int seen = report("control: counting loop, scale 30",
                            [&] { return measure(draws / 10, nothing, counting); });

    std::printf("\n%d values of |t| above %.1f, the control not counted\n", suspicious,
                kSuspicious);
    return suspicious == 0 && seen > 0 ? 0 : 1;
}
