#include "core/accuracy/anchored_error.hpp"
#include "core/count/anchored_state.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/base/limits.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

using Bytes = std::vector<unsigned char>;

AnchoredLaw law_of(std::int64_t block, double epsilon = 1, std::int64_t sensitivity = 1) {
    return {{Epsilon(epsilon), sensitivity}, block};
}

/// A stream as the server has it, in the memory of the test.
class Stream {
public:
    explicit Stream(const AnchoredLaw& law)
        : law_(law), prepared_(make_mechanism(law.increments())) {}

    std::int64_t advance(const std::function<std::int64_t()>& anchor,
                         const std::function<std::int64_t(int)>& node) {
        if (state_.begins_increments(law_)) {
            memory_ = test::block_of(CounterState::bytes(prepared_));
            increments_ = CounterState::create(memory_.get(), law_.increments(), prepared_);
        }
        return state_.advance(law_, increments_, &prepared_, anchor, node);
    }
    std::int64_t advance(RandomSource& random) {
        const DiscreteLaplace sampler(law_.anchor());
        const Release anchors(law_.unit, random);
        const Release nodes(law_.increments().unit, random);
        return advance([&] { return anchors.draw(sampler); },
                       [&](int level) { return nodes.draw(prepared_.sampler(level)); });
    }
    Bytes encode() {
        CounterState* kept = state_.has_increments(law_) ? increments_ : nullptr;
        Bytes bytes(AnchoredState::bytes(kept));
        state_.encode(kept, bytes.data());
        return bytes;
    }
    void decode(const Bytes& bytes) {
        state_ = {};
        increments_ = nullptr;
        const StateCodec::Bytes rest = state_.decode(bytes, law_);
        if (rest.empty())
            return;
        memory_ = test::block_of(CounterState::bytes(prepared_));
        increments_ = StateCodec::decode(StateCodec::decode_public(rest), prepared_, memory_.get());
        state_.check_increments(law_, *increments_);
    }
    [[nodiscard]] const AnchoredState& state() const { return state_; }
    [[nodiscard]] const MechanismSpec& spec() const { return prepared_.spec(); }

private:
    AnchoredLaw law_;
    PreparedMechanism prepared_;
    test::Block memory_;
    CounterState* increments_ = nullptr;
    AnchoredState state_{};
};

TEST(Anchored, SpendsEpsilonExactly) {
    for (const double epsilon : {1e-9, 0.1, 1.0, 1 / 3.0, 123456.789, 1e8}) {
        for (const std::int64_t s : {1, 2}) {
            const AnchoredLaw law = law_of(55, epsilon, s);
            // s / scale = 5/21 of epsilon, and 2 s / (scale / height) = 16/21 of it.
            EXPECT_EQ(law.anchor(),
                      (LaplaceScale{Epsilon(epsilon), static_cast<uint128>(21 * s), 5}));
            EXPECT_EQ(law.increments().unit, PrivacyUnit(Epsilon(8 * epsilon), 21 * s));
            EXPECT_EQ(Epsilon(8 * epsilon).value() / 8, epsilon);
            EXPECT_EQ(law.increments().horizon, 54);
            EXPECT_EQ(s * 5 * 21, 105 * s);
            EXPECT_EQ(2 * s * 8 * 21, 336 * s);
        }
    }
    EXPECT_EQ(law_of(9, 1e9).increments().unit.epsilon.value(), 1e9); // less than it may be
    EXPECT_LE(3 * 5, 21); // an anchor's share of at most a third
    for (const std::int64_t block : {std::int64_t{1}, AnchoredLaw::kMostSteps + 1, std::int64_t{0},
                                     std::numeric_limits<std::int64_t>::min()})
        EXPECT_THROW((void)law_of(block), Error);
    EXPECT_THROW((void)law_of(9, 1, std::numeric_limits<std::int64_t>::max()), Error);
}

TEST(Anchored, HasTheErrorOfTheDesign) {
    const struct {
        std::int64_t block;
        double stddev;
    } table[] = {{55, 14.6}, {36, 13.3}, {13, 10.6}, {24, 12.2}, {105, 16.7}};
    for (const auto& [block, stddev] : table)
        EXPECT_LE(std::sqrt(law_of(block).mse()), 1.04 * stddev) << block;
    EXPECT_GT(law_of(5).mse(), 2 * 5 * 5); // so short blocks are for noise in each period
    EXPECT_LT(law_of(6).mse(), 2 * 6 * 6);
    EXPECT_NEAR(law_of(55, 1, 2).mse() / law_of(55).mse(), 4, 0.01);
}

/// What each draw does to the noise of each step, by drawing 0 but for one.
TEST(Anchored, HasTheLawOfItsResponses) {
    constexpr double kImpulse = 0x1p40;
    for (const std::int64_t block : {2, 3, 7, 16}) {
        const AnchoredLaw law = law_of(block);
        const std::int64_t steps = 3 * block;
        std::vector<std::vector<double>> responses;
        std::vector<double> variances;
        for (std::size_t which = 0;; ++which) {
            Stream stream(law);
            std::size_t drawn = 0;
            double variance = 0;
            const auto draw = [&](const LaplaceScale& scale) -> std::int64_t {
                if (drawn++ != which)
                    return 0;
                variance = scale.variance();
                return static_cast<std::int64_t>(kImpulse);
            };
            std::vector<double> response{0};
            for (std::int64_t t = 1; t <= steps; ++t)
                response.push_back(
                    static_cast<double>(stream.advance(
                        [&] { return draw(law.anchor()); },
                        [&](int level) { return draw(stream.spec().scale(level)); })) /
                    kImpulse);
            if (which >= drawn)
                break;
            responses.push_back(response);
            variances.push_back(variance);
        }
        StreamError increments(law.increments());
        const AnchoredError errors(law, increments);
        double sum = 0;
        for (std::int64_t t = 1; t <= steps; ++t) {
            for (std::int64_t since = 0; since < t; ++since) {
                double expected = 0;
                for (std::size_t i = 0; i < responses.size(); ++i)
                    expected +=
                        variances[i] * std::pow(responses[i][static_cast<std::size_t>(t)] -
                                                    responses[i][static_cast<std::size_t>(since)],
                                                2);
                for (const std::int64_t step : {t, since})
                    if (step != 0 && law.increments_at(step) != 0 &&
                        Stream(law).spec().is_fractional())
                        expected += kRoundingVariance;
                ASSERT_NEAR(errors.variance_at(t, since), expected, 1e-6 * expected)
                    << block << ' ' << t << ' ' << since;
                double terms = 0;
                const NoiseSum noise = errors.noise_at(t, since);
                for (const NoiseTerm& term : noise.terms)
                    terms += std::pow(static_cast<double>(term.coefficient) /
                                          static_cast<double>(noise.denominator),
                                      2) *
                             term.scale.variance() * static_cast<double>(term.multiplicity);
                ASSERT_NEAR(terms, expected, 0.3) << block << ' ' << t << ' ' << since;
            }
            sum += errors.variance_at(t);
        }
        EXPECT_NEAR(sum / static_cast<double>(steps), law.mse(), 1e-6 * law.mse());
    }
}

TEST(Anchored, BeginsAnewInEachBlock) {
    const AnchoredLaw law = law_of(5, 1e-6);
    Stream stream(law);
    test::Seeded random(3);
    std::vector<std::int64_t> anchors;
    for (int block = 0; block < 40; ++block) {
        EXPECT_EQ(stream.state().anchor, 0); // gone
        EXPECT_EQ(stream.encode().size(), AnchoredState::bytes(nullptr));
        anchors.push_back(stream.advance(random));
        EXPECT_EQ(stream.state().anchor, anchors.back());
        EXPECT_NE(anchors.back(), 0);
        for (int i = 1; i < 5; ++i) {
            EXPECT_EQ(stream.state().anchor, anchors.back()); // the same one: it is not drawn anew
            (void)stream.advance(random);
        }
    }
    std::sort(anchors.begin(), anchors.end());
    EXPECT_EQ(std::unique(anchors.begin(), anchors.end()), anchors.end());
    EXPECT_EQ(stream.state().step, 200);
}

TEST(Anchored, GoesOnFromItsBytes) {
    for (const std::int64_t block : {2, 3, 20}) {
        const AnchoredLaw law = law_of(block, 0.1, 2);
        test::Seeded one(7);
        Stream through(law);
        std::vector<std::size_t> sizes;
        for (int i = 0; i < 65; ++i) {
            const Bytes bytes = through.encode();
            sizes.push_back(bytes.size());
            if (i >= block) {
                EXPECT_EQ(bytes.size(), sizes[static_cast<std::size_t>(i - block)]);
            }
            Stream stored(law);
            stored.decode(bytes);
            EXPECT_EQ(stored.encode(), bytes);
            test::Seeded three(static_cast<std::uint32_t>(i));
            test::Seeded four(static_cast<std::uint32_t>(i));
            Stream again(law);
            again.decode(bytes);
            ASSERT_EQ(stored.advance(three), again.advance(four));
            (void)through.advance(one);
        }
    }
}

TEST(Anchored, RefusesHostileBytes) {
    const AnchoredLaw law = law_of(5, 1);
    test::Seeded random(1);
    const auto at = [&](const AnchoredLaw& of, int steps) {
        Stream stream(of);
        for (int i = 0; i < steps; ++i)
            (void)stream.advance(random);
        return stream.encode();
    };
    const auto expect_corrupt = [&](const Bytes& bytes) {
        Stream stream(law);
        try {
            stream.decode(bytes);
            ADD_FAILURE() << "was read";
        } catch (const Error& error) {
            EXPECT_EQ(error.fault(), Fault::corrupt);
        }
    };
    const auto signed_again = [](Bytes bytes) {
        const std::size_t size = bytes.size() - 32;
        crypto_generichash(bytes.data() + size, 32, bytes.data(), size, nullptr, 0);
        return bytes;
    };
    for (const int steps : {0, 1, 3}) {
        const Bytes good = at(law, steps);
        Stream(law).decode(good);
        for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
            Bytes bad = good;
            bad[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
            expect_corrupt(bad);
        }
        for (std::size_t size = 0; size < good.size(); ++size)
            expect_corrupt(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
        for (const std::size_t place : {0U, 3U, 4U, 5U}) { // another kind, another version
            Bytes other = good;
            other[place] ^= 1U;
            expect_corrupt(signed_again(other));
        }
        Bytes longer = good;
        longer.insert(longer.end() - 32, 0);
        expect_corrupt(signed_again(longer));
    }
    // With a checksum that is right: what has no increments to go on with, or not those.
    const Bytes good = at(law, 3);
    for (const unsigned char step : {0, 1, 2, 4, 5, 6, 255}) { // 7, in the next block, would do
        Bytes other = good;
        other[6] = step;
        expect_corrupt(signed_again(other));
    }
    Bytes below = good;
    below[13] = 255; // a step below 0
    expect_corrupt(signed_again(below));
    Bytes far = good;
    far[21] = 127; // an anchor from 2^62 on
    expect_corrupt(signed_again(far));
    Bytes begun = at(law, 5);
    begun[14] = 1; // an anchor where a block begins
    expect_corrupt(signed_again(begun));
    expect_corrupt(at(law_of(6), 3)); // increments of another horizon
    expect_corrupt(at(law_of(5, 2), 3));
    expect_corrupt(at(law_of(5, 1, 2), 3));
}

TEST(Anchored, ForecastsWhatItsErrorsSay) {
    MechanismCache plans;
    Forecast forecast(plans);
    const AnchoredLaw law = law_of(13);
    StreamError increments(law.increments());
    const AnchoredError errors(law, increments);
    for (std::int64_t t = 1; t <= 30; ++t)
        for (std::int64_t since = 0; since <= t; ++since) {
            ASSERT_EQ(forecast.variance_at(law, t, since), errors.variance_at(t, since));
            ASSERT_EQ(forecast.half_width(law, t, 0.95, since),
                      test::half_width_of(errors, t, 0.95, since))
                << t << ' ' << since;
        }
    EXPECT_EQ(test::half_width_of(errors, 7, 0.95, 7), 0);
    EXPECT_EQ(test::half_width_of(errors, 0, 0.95), 0);
    EXPECT_THROW((void)errors.variance_at(-1), Error);
    EXPECT_THROW((void)errors.variance_at(3, 4), Error);
    EXPECT_THROW((void)errors.variance_at(kMaxHorizon + 1), Error);
    EXPECT_THROW((void)forecast.share_interval(law, 1, 1, 1, 0.95), Error);
}

TEST(Anchored, IsWithinItsIntervals) {
    const AnchoredLaw law = law_of(7, 0.7);
    StreamError increments(law.increments());
    const AnchoredError errors(law, increments);
    test::Seeded random(11);
    constexpr int kStreams = 4000;
    std::vector<int> within(15);
    std::vector<int> changes(15);
    std::vector<std::int64_t> widths(15);
    std::vector<std::int64_t> of_changes(15);
    for (std::size_t t = 1; t < 15; ++t) {
        widths[t] = test::half_width_of(errors, static_cast<std::int64_t>(t), 0.95);
        of_changes[t] = t < 4 ? 0
                              : test::half_width_of(errors, static_cast<std::int64_t>(t), 0.95,
                                                    static_cast<std::int64_t>(t) - 3);
    }
    for (int i = 0; i < kStreams; ++i) {
        Stream stream(law);
        std::vector<std::int64_t> noise{0};
        for (std::size_t t = 1; t < 15; ++t) {
            noise.push_back(stream.advance(random));
            within[t] += std::abs(noise[t]) <= widths[t] ? 1 : 0;
            if (t > 3)
                changes[t] += std::abs(noise[t] - noise[t - 3]) <= of_changes[t] ? 1 : 0;
        }
    }
    for (std::size_t t = 1; t < 15; ++t) { // 0.95 and a little more, since widths are integers
        EXPECT_GE(within[t], 0.95 * kStreams - 4 * 13.8) << t;
        EXPECT_LE(within[t], 0.975 * kStreams) << t;
        if (t > 3) {
            EXPECT_GE(changes[t], 0.95 * kStreams - 4 * 13.8) << t;
        }
    }
}

} // namespace
} // namespace dp_counter
