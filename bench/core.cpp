// The core without a server: nanoseconds a draw and a step (Google Benchmark). A benchmark is named
// GROUP/LINE/COLUMN, as bench/report prints it; the first argument is the longest stream.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <benchmark/benchmark.h>
#include <sodium.h>

#include "bench/samplers.hpp"
#include "core/count/mechanism_cache.hpp"
#include "core/count/noise_stream.hpp"
#include "core/noise/keystream.hpp"

namespace dp_counter::bench {
namespace {

std::string text(double number) {
    char digits[16];
    (void)std::snprintf(digits, sizeof digits, "%g", number);
    return digits;
}

template <class Draw>
void register_draw(double scale, const char* column, Draw draw) {
    benchmark::RegisterBenchmark(("one noise value/scale = " + text(scale) + "/" + column).c_str(),
                                 [draw](benchmark::State& state) {
                                     Keystream random;
                                     const Release release(Epsilon(1.0), random);
                                     for (auto _ : state)
                                         benchmark::DoNotOptimize(draw(release, random));
                                 });
}

void register_draws() {
    for (const double scale : {1.0, 3.0, 10.0, 30.0, 300.0, 1e4, 1e6, 1e9}) {
        const auto whole = static_cast<std::uint64_t>(scale);
        const auto laplace =
            std::make_shared<DiscreteLaplace>(LaplaceScale{Epsilon(1.0), uint128{whole}});
        register_draw(scale, "exact", [laplace](const Release& release, RandomSource&) {
            return release.draw(*laplace);
        });
        register_draw(scale, "rejection", [whole](const Release&, RandomSource& random) {
            return draw_by_rejection(whole, random);
        });
        register_draw(scale, "insecure", [scale](const Release&, RandomSource& random) {
            return draw_insecurely(scale, random);
        });
    }
}

/// Steps of a stream that is started again at its end.
void measure_steps(benchmark::State& state, const Request& request) {
    static MechanismCache cache;
    const PreparedMechanism& prepared = cache.prepare(request);
    const std::size_t bytes = NoiseStream::bytes(prepared);
    const std::unique_ptr<void, void (*)(void*)> block(
        std::aligned_alloc(64, (bytes + 63) / 64 * 64), &std::free);
    Keystream random;
    const Release release(request.unit, random);
    NoiseStream* stream = NoiseStream::create(block.get(), prepared);
    Progress progress{};
    for (auto _ : state) {
        if (progress.step == request.horizon) [[unlikely]] {
            stream = NoiseStream::create(block.get(), prepared);
            progress = {};
        }
        progress.record(progress.step % 3 == 0);
        benchmark::DoNotOptimize(progress.release(stream->advance(release)));
    }
    state.counters["bytes"] = static_cast<double>(bytes);
}

/// A mechanism or k of "auto" is left to make_mechanism. Not registered: a k that the mechanism
/// refuses.
benchmark::internal::Benchmark* register_steps(const std::string& name,
                                               const std::string& mechanism, const std::string& k,
                                               std::int64_t horizon, double epsilon) {
    Request request{horizon, Epsilon(epsilon), {}, {}};
    try {
        if (mechanism != "auto")
            request.mechanism = mechanism_from_name(mechanism);
        if (k != "auto")
            request.radix = std::stoi(k);
        (void)make_mechanism(request);
    } catch (const Error&) {
        return nullptr;
    }
    return benchmark::RegisterBenchmark(
        name.c_str(), [request](benchmark::State& state) { measure_steps(state, request); });
}

void register_all_steps() {
    for (const std::string mechanism : {"subtraction", "plain", "hat", "auto"})
        for (const std::string k : {"2", "7", "19", "101", "auto"})
            for (const double epsilon : {1.0, 0.01})
                if (mechanism != "auto" || k == "auto")
                    (void)register_steps("one step of the core, horizon 1e6/" + mechanism +
                                             ", k = " + k + "/epsilon = " + text(epsilon),
                                         mechanism, k, 1000000, epsilon);
}

void register_streams(double longest) {
    for (int exponent = 3; std::pow(10.0, exponent) <= longest; ++exponent) {
        const auto rows = static_cast<std::int64_t>(std::pow(10.0, exponent));
        const std::string name = "one step of a whole stream/T = 1e" + std::to_string(exponent);
        for (auto* stream : {register_steps(name + "/k = 19", "subtraction", "19", rows, 1),
                             register_steps(name + "/default", "auto", "auto", rows, 1)})
            stream->Iterations(std::max<std::int64_t>(rows, 2000000));
    }
}

} // namespace
} // namespace dp_counter::bench

int main(int argc, char** argv) {
    if (sodium_init() < 0 || argc < 2)
        return 1;
    dp_counter::bench::register_draws();
    dp_counter::bench::register_all_steps();
    dp_counter::bench::register_streams(std::atof(argv[1]));
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
