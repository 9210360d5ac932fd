// The core without a server: nanoseconds a draw and a step (Google Benchmark).
//
//   draw/SAMPLER/SCALE                         one noise value
//   step/MECHANISM/K/EPSILON                   one row at horizon 1e6
//   stream/MECHANISM/K/HORIZON                 whole streams of HORIZON rows, epsilon 1
//
// K "auto" leaves the radix to make_plan, mechanism "auto" the mechanism too.
#include <cmath>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <sodium.h>

#include "bench/double_laplace.hpp"
#include "bench/rejection_sampler.hpp"
#include "core/keystream.hpp"
#include "core/noise_stream.hpp"
#include "core/plan_cache.hpp"

namespace dp_counter::bench {
namespace {

template <class Draw>
void measure_draws(benchmark::State& state, Draw draw) {
    Keystream random;
    for (auto _ : state)
        benchmark::DoNotOptimize(draw(random));
}

void register_draws() {
    for (const double scale : {1.0, 3.0, 10.0, 30.0, 300.0, 1e4, 1e6, 1e9}) {
        const auto whole = static_cast<std::uint64_t>(scale);
        char text[16];
        (void)std::snprintf(text, sizeof text, "%g", scale);
        const auto name = [&](const char* sampler) {
            return std::string("draw/") + sampler + "/" + text;
        };
        benchmark::RegisterBenchmark(name("exact").c_str(), [whole](benchmark::State& state) {
            const DiscreteLaplace laplace(LaplaceScale{Epsilon(1.0), whole});
            measure_draws(state, [&](RandomSource& random) { return laplace.draw(random); });
        });
        benchmark::RegisterBenchmark(name("rejection").c_str(), [whole](benchmark::State& state) {
            Bits signs;
            measure_draws(state, [&](RandomSource& random) {
                return draw_by_rejection(whole, 1, random, signs);
            });
        });
        benchmark::RegisterBenchmark(name("insecure").c_str(), [scale](benchmark::State& state) {
            measure_draws(state,
                          [&](RandomSource& random) { return draw_insecurely(scale, random); });
        });
    }
}

/// A stream in memory of its own, started again at its end.
class Stream {
public:
    explicit Stream(const PreparedPlan& prepared)
        : prepared_(prepared), bytes_(NoiseStream::bytes(prepared)),
          block_(std::aligned_alloc(64, (bytes_ + 63) / 64 * 64)) {
        if (block_ == nullptr)
            throw std::bad_alloc();
        start();
    }
    ~Stream() { std::free(block_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    std::int64_t step(RandomSource& random) {
        if (progress_.step == prepared_.plan().horizon) [[unlikely]]
            start();
        progress_.record(progress_.step % 3 == 0);
        return progress_.release(stream_->advance(random));
    }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    void start() {
        stream_ = NoiseStream::create(block_, prepared_);
        progress_ = {};
    }

    const PreparedPlan& prepared_;
    std::size_t bytes_;
    void* block_;
    NoiseStream* stream_ = nullptr;
    Progress progress_{};
};

void measure_steps(benchmark::State& state, const Request& request) {
    static PlanCache cache;
    const PreparedPlan& prepared = cache.prepare(request);
    Stream stream(prepared);
    Keystream random;
    for (auto _ : state)
        benchmark::DoNotOptimize(stream.step(random));
    state.counters["bytes"] = static_cast<double>(stream.bytes());
    state.SetLabel(mechanism_name(prepared.plan().mechanism));
}

/// The mechanisms that this build knows, and "auto".
std::vector<std::string> mechanisms() {
    std::vector<std::string> known;
    for (const char* name : {"subtraction", "plain", "bridge", "hat"}) {
        try {
            (void)mechanism_from_name(name);
            known.emplace_back(name);
        } catch (const Error&) {
        }
    }
    return known;
}

/// False if this mechanism does not take this k.
bool is_possible(const Request& request) {
    try {
        (void)make_plan(request);
        return true;
    } catch (const Error&) {
        return false;
    }
}

Request request_for(const std::string& mechanism, const std::string& k, std::int64_t horizon,
                    double epsilon) {
    Request request{horizon, Epsilon(epsilon), {}, {}};
    if (mechanism != "auto")
        request.mechanism = mechanism_from_name(mechanism);
    if (k != "auto")
        request.radix = std::stoi(k);
    return request;
}

void register_steps() {
    std::vector<std::string> all = mechanisms();
    all.emplace_back("auto");
    for (const std::string& mechanism : all) {
        for (const char* k : {"2", "7", "19", "101", "auto"}) {
            if (mechanism == "auto" && k != std::string("auto"))
                continue;
            for (const char* epsilon : {"0.01", "1"}) {
                const Request request = request_for(mechanism, k, 1000000, std::stod(epsilon));
                if (is_possible(request))
                    benchmark::RegisterBenchmark(
                        ("step/" + mechanism + "/" + k + "/" + epsilon).c_str(),
                        [request](benchmark::State& state) { measure_steps(state, request); });
            }
        }
    }
}

void register_streams(double longest) {
    const std::pair<const char*, const char*> kinds[] = {{"subtraction", "19"}, {"auto", "auto"}};
    for (const auto& [mechanism, k] : kinds) {
        for (double horizon = 1e3; horizon <= longest; horizon *= 10) {
            const auto rows = static_cast<std::int64_t>(horizon);
            const Request request = request_for(mechanism, k, rows, 1.0);
            char name[64];
            (void)std::snprintf(name, sizeof name, "stream/%s/%s/%g", mechanism, k, horizon);
            benchmark::RegisterBenchmark(name, [request](benchmark::State& state) {
                measure_steps(state, request);
            })->Iterations(std::max<std::int64_t>(rows, 2000000));
        }
    }
}

} // namespace
} // namespace dp_counter::bench

int main(int argc, char** argv) {
    if (sodium_init() < 0)
        return 1;
    // The first argument is the longest stream.
    const double longest = argc > 1 ? std::atof(argv[1]) : 1e8;
    dp_counter::bench::register_draws();
    dp_counter::bench::register_steps();
    dp_counter::bench::register_streams(longest);
    for (int i = 2; i < argc; ++i)
        argv[i - 1] = argv[i];
    --argc;
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
