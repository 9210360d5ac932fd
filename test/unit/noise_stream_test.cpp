#include "core/count/noise_stream.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/count/epochs.hpp"
#include "core/count/mechanism_cache.hpp"
#include "core/noise/keystream.hpp"
#include "core/tree/tree_variance.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

MechanismCache& cache() {
    static MechanismCache instance;
    return instance;
}

/// A stream in memory of its own.
class Stream {
public:
    explicit Stream(const Request& request)
        : prepared_(cache().share(request)),
          memory_(test::block_of(NoiseStream::bytes(*prepared_))),
          noise_(NoiseStream::create(memory_.get(), *prepared_)) {}

    std::int64_t advance(bool bit, RandomSource& random) {
        progress_.record(bit);
        return progress_.release(noise_->advance({prepared_->spec().unit, random}));
    }
    [[nodiscard]] const MechanismSpec& spec() const { return prepared_->spec(); }
    [[nodiscard]] bool is_ready() const { return noise_->is_ready(); }
    /// Whether the stream's memory holds this number anywhere.
    [[nodiscard]] bool remembers(std::int64_t number) const {
        const std::string_view block(memory_.get(), NoiseStream::bytes(*prepared_));
        return block.find({reinterpret_cast<const char*>(&number), sizeof number}) !=
               std::string_view::npos;
    }
    void restart() {
        noise_ = NoiseStream::create(memory_.get(), *prepared_);
        progress_ = {};
    }

private:
    std::shared_ptr<const PreparedMechanism> prepared_;
    test::Block memory_;
    NoiseStream* noise_;
    Progress progress_{};
};

Request request(std::int64_t horizon, double epsilon, std::optional<std::int32_t> k = {},
                std::optional<Mechanism> mechanism = {}) {
    return {horizon, Epsilon(epsilon), k, mechanism};
}

TEST(NoiseStream, IsTheCountWhereNoiseVanishes) {
    Keystream random;
    for (const auto mechanism : {Mechanism::subtraction, Mechanism::plain})
        for (const std::optional<std::int32_t> k :
             {std::optional<std::int32_t>{}, {2}, {3}, {4}, {19}, {101}, {65535}}) {
            Stream stream(request(1000, 1e9, k, mechanism));
            std::int64_t count = 0;
            for (int t = 1; t <= 1000; ++t) {
                const bool bit = t % 3 == 0;
                count += bit ? 1 : 0;
                ASSERT_EQ(stream.advance(bit, random), count);
            }
        }
}

TEST(NoiseStream, EndsAtItsHorizon) {
    Keystream random;
    Stream stream(request(7, 1, 19)); // 19 would serve 9 steps with one digit
    for (int t = 1; t <= 7; ++t)
        (void)stream.advance(true, random);
    try {
        (void)stream.advance(true, random);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::data);
        EXPECT_EQ(std::string(error.what()), "more rows than the horizon of 7");
    }
}

TEST(NoiseStream, EndsWhereverItsHorizonCutsOffWhatIsDrawnAtATime) {
    Keystream random;
    for (const auto mechanism : {Mechanism::subtraction, Mechanism::hat})
        for (const std::int64_t horizon : {1, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65, 97}) {
            Stream stream(request(horizon, 1e9, 3, mechanism));
            std::int64_t count = 0;
            for (std::int64_t t = 1; t <= horizon; ++t)
                ASSERT_EQ(stream.advance(t % 2 == 1, random), count += t % 2) << horizon;
            EXPECT_THROW((void)stream.advance(true, random), Error) << horizon;
        }
}

// For half as many rows as have passed, and at first not beyond the cell that is drawn.
TEST(NoiseStream, DrawsLittleAheadAtItsStart) {
    Keystream random;
    const auto stops = [&](const Request& request) {
        Stream stream(request);
        std::vector<int> steps; // after which nothing is ready
        for (int t = 1; t <= 130; ++t) {
            (void)stream.advance(true, random);
            if (!stream.is_ready())
                steps.push_back(t);
        }
        return steps;
    };
    EXPECT_EQ(stops(request(1000, 1, 19, Mechanism::subtraction)),
              (std::vector<int>{6, 12, 18, 27, 40, 60, 90, 122}));
    // Cells begin after 12, 28, 44 rows.
    EXPECT_EQ(stops(request(1000000000, 1)),
              (std::vector<int>{6, 12, 18, 27, 28, 42, 44, 66, 98, 130}));
}

TEST(NoiseStream, HasNoRowReadyWhereDrawingFailed) {
    std::vector<std::uint32_t> words;
    for (std::uint32_t i = 1; i <= 248; ++i)
        words.push_back(i * 2654435761U);
    test::Script script(words);
    Stream stream(request(1000, 1, 19, Mechanism::subtraction));
    const auto until_it_fails = [&] {
        for (;;)
            (void)stream.advance(true, script);
    };
    EXPECT_THROW(until_it_fails(), std::logic_error);
    EXPECT_FALSE(stream.is_ready()); // a row would be released without noise
}

TEST(NoiseStream, ForgetsTheNoiseOfPassedRows) {
    // After 105 = (6, -9) rows no sum of live nodes was a release, but for the last one.
    test::Seeded random(7);
    constexpr int kRows = 105;
    for (const auto mechanism : {Mechanism::subtraction, Mechanism::hat}) {
        Stream stream(request(kRows, 1e-9, 19, mechanism));
        std::vector<std::int64_t> noise;
        for (int t = 1; t <= kRows; ++t)
            noise.push_back(stream.advance(false, random));
        int found = 0;
        for (int t = 1; t < kRows; ++t)
            found += stream.remembers(noise[static_cast<std::size_t>(t - 1)]) ? 1 : 0;
        EXPECT_EQ(found, 0);
        EXPECT_TRUE(mechanism == Mechanism::hat || stream.remembers(noise.back()));
    }
}

/// The number of nodes that steps a and b have in common.
double common_nodes(std::int64_t a, std::int64_t b, int k, int lowest) {
    double common = 0;
    for (const auto& x : test::nodes_by_definition(a, k, lowest))
        for (const auto& y : test::nodes_by_definition(b, k, lowest))
            common += x.node == y.node ? 1 : 0;
    return common;
}

TEST(Saturated, IsTheNumberOrTheNearestOf64Bits) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t number : {kLeast, kLeast + 1, -1L, 0L, 1L, kMost - 1, kMost})
        EXPECT_EQ(saturated(number), number);
    for (const int bits : {63, 64, 65, 126}) {
        EXPECT_EQ(saturated(int128{1} << bits), kMost);
        EXPECT_EQ(saturated(-(int128{1} << bits) - 1), kLeast);
    }
}

TEST(Progress, SaturatesTheReleaseAndNothingElse) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ((Progress{5, 3}.release(kMost)), kMost);
    EXPECT_EQ((Progress{5, 3}.release(kMost - 3)), kMost);
    EXPECT_EQ((Progress{5, 3}.release(kMost - 4)), kMost - 1);
    EXPECT_EQ((Progress{5, 3}.release(-kMost - 1)), 2 - kMost);
    EXPECT_EQ((Progress{kMaxHorizon, kMaxHorizon}.release(kMost)), kMost);
}

// A sum that was clamped at a limit would forget by how much: what a neighbor had less could come
// back later, and the two would differ in more than their sensitivity.
TEST(Progress, RemembersASumBeyondAllReleases) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t less : {std::int64_t{0}, std::int64_t{7}, kMost}) {
        Progress one{};
        Progress other{};
        const auto both = [&](std::int64_t addend) {
            one.record(addend);
            other.record(addend);
        };
        one.record(kMost);
        other.record(kMost - less);
        for (int i = 0; i < 1000; ++i)
            both(kMost);
        EXPECT_EQ(one.release(-1), kMost);
        EXPECT_EQ(other.release(-1), kMost);
        for (int i = 0; i < 1001; ++i)
            both(-kMost);
        EXPECT_EQ(one.total, 0);
        EXPECT_EQ(other.total, -less);
        for (int i = 0; i < 1000; ++i)
            both(kLeast);
        EXPECT_EQ(one.release(kMost), kLeast);
        EXPECT_EQ(one.total - other.total, less);
        EXPECT_EQ(one.step, 3002);
    }
    // The most that there can be.
    Progress most{kMaxHorizon - 1, int128{kLeast} * (kMaxHorizon - 1)};
    most.record(kLeast);
    EXPECT_EQ(most.total / kMaxHorizon, kLeast);
    EXPECT_EQ(most.release(kLeast), kLeast);
}

TEST(NoiseStream, ReleasesVaryTogetherAsTheirNodesSay) {
    // 20000 streams of zero bits; for 60 pairs of steps the mean of noise_a noise_b against node
    // variance x common nodes. A product of sums of Laplace variables has a standard deviation of
    // at most sqrt(6 n_a n_b) V; 6 standard errors: false-alarm rate below 1e-7 in all. Power: the
    // variances would be off by (h-1)^2 / h^2 = 0.44 at h = 3, which is 20 standard errors.
    constexpr int kStreams = 20000;
    constexpr int kSteps = 40; // more than are drawn ahead at a time
    Keystream random;
    for (const auto& [k, mechanism] :
         {std::pair(3, Mechanism::subtraction), std::pair(4, Mechanism::subtraction),
          std::pair(3, Mechanism::plain)}) {
        Stream stream(request(kSteps, 0.5, k, mechanism));
        std::vector<std::vector<double>> sums(kSteps + 1, std::vector<double>(kSteps + 1));
        std::vector<double> noise(kSteps + 1);
        for (int i = 0; i < kStreams; ++i) {
            stream.restart();
            for (int t = 1; t <= kSteps; ++t)
                noise[static_cast<std::size_t>(t)] =
                    static_cast<double>(stream.advance(false, random));
            for (std::size_t a = 1; a <= kSteps; ++a)
                for (std::size_t b = a; b <= kSteps; b += 7)
                    sums[a][b] += noise[a] * noise[b];
        }
        const double variance = stream.spec().scale().variance();
        const DigitSystem digits = stream.spec().digits();
        for (std::size_t a = 1; a <= kSteps; ++a)
            for (std::size_t b = a; b <= kSteps; b += 7) {
                const auto ta = static_cast<std::int64_t>(a);
                const auto tb = static_cast<std::int64_t>(b);
                const double expected = variance * common_nodes(ta, tb, k, digits.lowest());
                const double deviation =
                    variance * std::sqrt(6.0 * static_cast<double>(nodes_at(digits, ta)) *
                                         static_cast<double>(nodes_at(digits, tb)) / kStreams);
                EXPECT_NEAR(sums[a][b] / kStreams, expected, 6 * deviation) << a << " " << b;
            }
    }
}

TEST(NoiseStream, LastReleaseHasTheVarianceOfItsStep) {
    constexpr int kReleases = 50000;
    Keystream random;
    const PreparedMechanism& prepared = cache().prepare(request(1000, 0.5, 19));
    const MechanismSpec& spec = prepared.spec();
    const auto sample = [&](std::int64_t t) {
        return rounded(sample_noise(
            prepared, t, [&](int level) { return test::draw(prepared.sampler(level), random); }));
    };
    for (const std::int64_t t : {1, 9, 10, 500, 999}) {
        double squares = 0;
        for (int i = 0; i < kReleases; ++i) {
            const auto noise = static_cast<double>(sample(t));
            squares += noise * noise;
        }
        const double expected =
            spec.scale().variance() * static_cast<double>(nodes_at(spec.digits(), t));
        EXPECT_NEAR(squares / kReleases / expected, 1, 7 * std::sqrt(5.0 / kReleases)) << t;
    }
    EXPECT_EQ(sample(0), 0);
}

TEST(NoiseStream, GoesOnInEpochs) {
    // Noise vanishes: it is zero across the borders.
    Keystream random;
    const Request unbounded = request(kUnbounded, 1e9, 3, Mechanism::subtraction);
    test::Block memory[3];
    NoiseStream* stream = nullptr;
    std::int64_t t = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
        const PreparedMechanism& prepared = cache().prepare(unbounded, epoch);
        EXPECT_EQ(prepared.spec().horizon, epoch_length(epoch));
        memory[epoch] = test::block_of(NoiseStream::bytes(prepared));
        stream = epoch == 0 ? NoiseStream::create(memory[epoch].get(), prepared)
                            : NoiseStream::create_next(memory[epoch].get(), prepared, *stream);
        for (; !stream->is_over(); ++t)
            ASSERT_EQ(stream->advance({unbounded.unit, random}), 0);
        EXPECT_EQ(t, epoch_begin(epoch + 1));
        EXPECT_THROW((void)NoiseStream(*stream).advance({unbounded.unit, random}), Error);
    }
}

TEST(NoiseStream, CarriesTheNoiseOfClosedEpochs) {
    // Epoch 0 ends with noise n; the first noise of epoch 1 is n and that epoch's own. With another
    // epsilon for the second epoch, whose noise vanishes, it is n.
    Keystream random;
    const PreparedMechanism& noisy = cache().prepare(request(9, 0.01, 19));
    const test::Block first = test::block_of(NoiseStream::bytes(noisy));
    NoiseStream* stream = NoiseStream::create(first.get(), noisy);
    std::int64_t last = 0;
    while (!stream->is_over())
        last = stream->advance({noisy.spec().unit, random});
    const PreparedMechanism& exact = cache().prepare(request(5, 1e9, 19));
    const test::Block second = test::block_of(NoiseStream::bytes(exact));
    stream = NoiseStream::create_next(second.get(), exact, *stream);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(stream->advance({exact.spec().unit, random}), last);
}

} // namespace
} // namespace dp_counter
