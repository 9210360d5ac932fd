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
#include <functional>
#include <vector>

#include <sodium.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "core/keystream.hpp"
#include "core/noise_stream.hpp"
#include "core/plan_cache.hpp"

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

std::vector<Measurement> measure(std::size_t count, const std::function<std::int64_t()>& draw) {
    std::vector<Measurement> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t begin = now();
        const std::int64_t value = draw();
        all.push_back({value, now() - begin});
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

using Class = std::function<bool(std::int64_t)>;

/// The greatest |t| between the values in and out of a class, with the slowest measurements left
/// out: they are interrupts, and too few and too long for the means to be normal.
double greatest_t(const std::vector<Measurement>& all, const Class& in) {
    std::vector<std::uint64_t> ticks;
    ticks.reserve(all.size());
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
        if (classes[0].n < 1000 || classes[1].n < 1000)
            continue;
        const double error = std::sqrt(classes[0].error() + classes[1].error());
        if (error > 0)
            greatest = std::max(greatest, std::abs(classes[1].mean - classes[0].mean) / error);
    }
    return greatest;
}

std::int64_t median_magnitude(const std::vector<Measurement>& all) {
    std::vector<std::int64_t> magnitudes;
    for (const Measurement& one : all)
        magnitudes.push_back(std::abs(one.value));
    std::nth_element(magnitudes.begin(),
                     magnitudes.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                     magnitudes.end());
    return magnitudes[all.size() / 2];
}

constexpr double kSuspicious = 4.5;
int suspicious = 0;

using Measure = std::function<std::vector<Measurement>()>;

/// A line of the table. A |t| that is too great has to be so twice: of hundreds some are, by
/// chance.
void report(const char* what, const Measure& run, bool control) {
    const std::vector<Measurement> all = run();
    const std::int64_t median = median_magnitude(all);
    const Class classes[] = {
        [=](std::int64_t z) { return std::abs(z) > median; },
        [=](std::int64_t z) { return std::abs(z) > 4 * median; },
        [](std::int64_t z) { return z == 0; },
        [](std::int64_t z) { return z < 0; },
        [](std::int64_t z) { return z % 2 != 0; },
        [](std::int64_t z) { return std::abs(z) % 16 >= 8; },
    };
    std::printf("%-34s", what);
    for (const Class& in : classes) {
        double t = greatest_t(all, in);
        if (t > kSuspicious)
            t = std::min(t, greatest_t(run(), in));
        std::printf(" %8.1f", t);
        suspicious += !control && t > kSuspicious ? 1 : 0;
    }
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    if (sodium_init() < 0)
        return 2;
    const std::size_t draws = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2000000;
    Keystream random;
    std::printf(
        "%zu measurements a line, greatest |t| between the values in a class and the others\n\n",
        draws);
    std::printf("%-34s %8s %8s %8s %8s %8s %8s\n", "", "large", "huge", "zero", "negative", "odd",
                "digit>7");
    for (const double scale : {1.0, 3.0, 30.0, 300.0, 1e4, 1e6, 1e9}) {
        const DiscreteLaplace sampler({Epsilon(scale > 1 ? 1 / scale : 1), 1});
        const auto draw = [&] { return sampler.draw(random); };
        (void)measure(draws / 20, draw); // warm
        char name[64];
        (void)std::snprintf(name, sizeof name, "draw, scale %g", scale);
        report(
            name, [&] { return measure(draws, draw); }, false);
    }

    // A step of a stream, by its secret bit ("odd"): a coin decides it outside of the measured
    // time.
    PlanCache cache;
    const PreparedPlan& prepared = cache.prepare({1 << 30, Epsilon(1), 19, Mechanism::subtraction});
    std::vector<std::max_align_t> block(NoiseStream::bytes(prepared) / sizeof(std::max_align_t) +
                                        1);
    NoiseStream* stream = NoiseStream::create(block.data(), prepared);
    Progress progress{};
    Keystream coins;
    const auto steps = [&] {
        std::vector<Measurement> all;
        for (std::size_t i = 0; i < draws; ++i) {
            const bool bit = (coins.next32() & 1U) != 0;
            const std::uint64_t begin = now();
            progress.record(bit);
            volatile std::int64_t release = progress.release(stream->advance(random));
            (void)release;
            all.push_back({bit ? 1 : 0, now() - begin});
        }
        return all;
    };
    report("step, by its bit (odd)", steps, false);

    // What a leak looks like: the same distribution by counting failures.
    const auto counting = [&] {
        std::int64_t z = 0;
        while (random.next32() < 0xF7B0F5A3U) // exp(-1/30)
            ++z;
        return (random.next32() & 1U) != 0 ? z : -z;
    };
    report(
        "control: counting loop, scale 30", [&] { return measure(draws / 10, counting); }, true);

    std::printf("\n%d values of |t| above %.1f, the control not counted\n", suspicious,
                kSuspicious);
    return suspicious == 0 ? 0 : 1;
}
