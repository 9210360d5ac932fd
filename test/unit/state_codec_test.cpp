#include "core/count/state_codec.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>

#include "core/count/epochs.hpp"

#include "unit/counter_support.hpp"
#include "unit/own_stack.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

using test::Counter;
using test::counter_request;
using Bytes = std::vector<unsigned char>;

/// Counters of many shapes, some steps on.
void for_each_counter(const std::function<void(Counter&)>& check) {
    Keystream random;
    for (const std::int64_t horizon : {0, 1, 2, 100, 5000})
        for (const std::optional<std::int32_t> k :
             {std::optional<std::int32_t>{}, {2}, {3}, {4}, {19}})
            for (const std::optional<Mechanism> mechanism : {std::optional<Mechanism>{},
                                                             {Mechanism::plain},
                                                             {Mechanism::subtraction},
                                                             {Mechanism::hat}}) {
                Counter counter(counter_request(horizon, 0.7, k, mechanism));
                check(counter);
                for (int step = 1;
                     step <= std::min<std::int64_t>(horizon == 0 ? 1100 : horizon, 1100); ++step) {
                    (void)counter.advance(5 * step, random);
                    if (step < 5 || step % 211 == 0 || step == 1000 || step == 1001)
                        check(counter);
                }
            }
}

void expect_corrupt(const Bytes& bytes) {
    try {
        const Counter counter(bytes);
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::corrupt);
    }
}

/// Makes the checksum right again: what remains must be found by the other checks.
void seal(Bytes& bytes) {
    crypto_generichash(bytes.data() + bytes.size() - 32, 32, bytes.data(), bytes.size() - 32,
                       nullptr, 0);
}

template <class Int>
Bytes with(Bytes bytes, std::size_t offset, Int value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    seal(bytes);
    return bytes;
}

constexpr std::size_t kVersion = 4, kHorizon = 6, kEpsilon = 14, kSensitivity = 22, kRadix = 30,
                      kMechanism = 34, kEpochMechanism = 35, kEpochRadix = 36, kEpochHorizon = 40,
                      kStep = 48, kEpoch = 56, kEpochStart = 64, kCarried = 88, kVariance = 104,
                      kCarriedVariance = 112, kEngine = 120;

struct Shape {
    std::optional<std::int32_t> k;
    std::optional<Mechanism> mechanism;
};

const std::vector<Shape> kShapes{
    {{2}, Mechanism::plain},  {{3}, Mechanism::subtraction}, {{4}, Mechanism::subtraction},
    {{19}, Mechanism::plain}, {{4}, Mechanism::hat},         {{5}, Mechanism::hat},
    {{3}, Mechanism::hat},    {{}, Mechanism::hat},
};

TEST(StateCodec, ReadsWhatItWrote) {
    for_each_counter([](Counter& counter) {
        const Bytes bytes = counter.encode();
        Counter copy(bytes);
        ASSERT_EQ(copy.encode(), bytes);
        ASSERT_EQ(copy.state().step(), counter.state().step());
    });
}

TEST(StateCodec, AReadCounterGoesOnAsTheWrittenOneWould) {
    for (const std::int64_t horizon : {0, 5000}) {
        for (const auto& [k, mechanism] : kShapes) {
            std::int64_t z = 0;
            std::int64_t w = 0;
            Counter straight(counter_request(horizon, 1, k, mechanism));
            auto stored = std::make_unique<Counter>(counter_request(horizon, 1, k, mechanism));
            for (int step = 1; step <= 1500; ++step) {
                if (step < 40 || step % 41 == 0 || step == 1025)
                    stored = std::make_unique<Counter>(stored->encode());
                const auto expected = straight.advance_with(
                    step, [&](int) { return (z = (z * 31 + 7) % 1009) - 504; });
                const auto release = stored->advance_with(
                    step, [&](int) { return (w = (w * 31 + 7) % 1009) - 504; });
                ASSERT_EQ(release.count, expected.count);
                ASSERT_EQ(release.stddev, expected.stddev);
            }
            ASSERT_EQ(stored->encode(), straight.encode());
        }
    }
}

/// A state of an earlier day, as test/unit/data/states-1.txt describes it.
struct StoredState {
    Request request;
    std::int64_t step;
    Bytes bytes;
    std::vector<std::int64_t> next; ///< releases
};

std::vector<StoredState> stored_states() {
    std::ifstream file("test/unit/data/states-1.txt");
    std::vector<StoredState> states;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        if (line.empty() || line[0] == '#')
            continue;
        if (line[0] == '=') {
            words.ignore(1);
            for (std::int64_t count = 0; words >> count;)
                states.back().next.push_back(count);
        } else if (line.find(' ') != std::string::npos) {
            std::int64_t horizon = 0, sensitivity = 0, step = 0;
            std::int32_t k = 0;
            double epsilon = 0;
            std::string mechanism;
            words >> horizon >> epsilon >> sensitivity >> k >> mechanism >> step;
            Request request{horizon, PrivacyUnit(Epsilon(epsilon), sensitivity), {}, {}};
            if (k != 0)
                request.radix = k;
            if (mechanism != "chosen")
                request.mechanism = mechanism_from_name(mechanism);
            states.push_back({request, step, {}, {}});
        } else {
            for (std::size_t i = 0; i + 1 < line.size(); i += 2)
                states.back().bytes.push_back(
                    static_cast<unsigned char>(std::stoi(line.substr(i, 2), nullptr, 16)));
        }
    }
    return states;
}

// Bytes that were written once and stay as they are: whoever changes the format, or what an integer
// of an engine means, turns this red and has to give the format another version.
TEST(StateCodec, ReadsAndGoesOnFromWhatAnEarlierDayStored) {
    const std::vector<StoredState> states = stored_states();
    ASSERT_EQ(states.size(), 9U);
    for (const StoredState& state : states) {
        Counter counter(state.bytes);
        EXPECT_TRUE(counter.state().request() == state.request) << state.step;
        EXPECT_EQ(counter.state().step(), state.step);
        EXPECT_EQ(counter.encode(), state.bytes) << state.step;
        std::int64_t z = 0;
        std::int64_t step = state.step;
        for (const std::int64_t count : state.next)
            EXPECT_EQ(
                counter
                    .advance_with(3 * ++step, [&](int) { return (z = (z * 31 + 7) % 1009) - 504; })
                    .count,
                count)
                << state.request.horizon << ": " << step;
        EXPECT_FALSE(state.next.empty());
    }
}

// The table in state_codec.hpp, byte by byte.
TEST(StateCodec, LengthIsThatOfTheTable) {
    for (const StoredState& state : stored_states()) {
        const Counter counter(state.bytes);
        const MechanismSpec& spec = counter.prepared().spec();
        std::size_t integers = 0;
        std::size_t mechanism = 48;
        if (spec.is_tree()) {
            const auto height = static_cast<std::size_t>(spec.height);
            const auto s = static_cast<std::size_t>(-spec.digits().lowest());
            integers = 1 + height * 2 + (height - 1) * s;
        } else {
            const auto levels = static_cast<std::size_t>(spec.height - 1);
            mechanism = 51 + 16 * levels;
            integers = 7 + 12 * levels;
            for (int l = 1; l < spec.height; ++l)
                integers += static_cast<std::size_t>(counter.prepared().hats()->level(l).queue);
        }
        EXPECT_EQ(state.bytes.size(), mechanism + 72 + 8 * integers + 32);
        std::int64_t step = -1;
        std::memcpy(&step, state.bytes.data() + mechanism, sizeof step);
        EXPECT_EQ(step, state.step);
    }
}

// The lattice is as fine as epsilon lets it be.
TEST(StateCodec, ReadsCoarseLattices) {
    Keystream random;
    for (const double epsilon : {1e-9, 1e-8, 1e-7}) {
        Counter counter(counter_request(1'000'000'000, epsilon, {}, Mechanism::hat));
        (void)counter.advance(1, random);
        const Bytes bytes = counter.encode();
        EXPECT_EQ(Counter(bytes).encode(), bytes);
        EXPECT_EQ(Counter(bytes).state().spec().levels, counter.state().spec().levels);
    }
}

TEST(StateCodec, LengthTellsNothingAboutTheNoise) {
    for (const auto& [k, mechanism] : kShapes) {
        Counter quiet(counter_request(1000, 1, k, mechanism));
        Counter busy(counter_request(1000, 1, k, mechanism));
        for (int step = 1; step <= 1000; ++step) {
            (void)quiet.advance_with(0, [](int) { return std::int64_t{0}; });
            (void)busy.advance_with(step * 1'000'000'000'000LL,
                                    [](int) { return -(std::int64_t{1} << 40); });
            ASSERT_EQ(quiet.encode().size(), busy.encode().size());
        }
    }
}

TEST(StateCodec, HoldsNoNoiseOfPassedSteps) {
    Counter counter(counter_request(300, 1, 5, Mechanism::hat));
    std::uint64_t z = 1;
    std::vector<std::int64_t> steps; // the noise of every step, in the order of the draws
    int ahead = 0;
    for (std::size_t t = 1; t <= 300; ++t) {
        (void)counter.advance_with(0, [&](int level) {
            z = z * 6364136223846793005U + 1442695040888963407U;
            const std::int64_t noise = static_cast<std::int64_t>(z) >> 16;
            if (level == 0)
                steps.push_back(noise);
            return noise;
        });
        const Bytes bytes = counter.encode();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const bool is_found =
                memmem(bytes.data(), bytes.size(), &steps[i], sizeof steps[i]) != nullptr;
            ASSERT_FALSE(is_found && i + 1 < t) << "step " << i + 1 << " after " << t;
            ahead += is_found && i >= t ? 1 : 0;
        }
    }
    EXPECT_GT(ahead, 0); // that is, the test can see the noise of steps to come
}

Bytes stored; // what runs on a stack of its own has no arguments

TEST(StateCodec, LeavesNoCopyOnTheStack) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer keeps locals elsewhere";
#endif
    Counter counter(counter_request(kUnbounded, 1e-6));
    Keystream random;
    for (int step = 1; step <= 200; ++step)
        (void)counter.advance(step, random);
    stored = counter.encode();
    test::OwnStack stack;
    const auto count = [&] {
        int copies = 0;
        for (std::size_t at = 64; at + 32 + 16 <= stored.size(); ++at) {
            const unsigned char* piece = stored.data() + at;
            const auto is_random = [](unsigned char byte) { return byte != 0 && byte != 255; };
            if (std::count_if(piece, piece + 16, is_random) > 8)
                copies += stack.remembers(piece, 16) ? 1 : 0;
        }
        return copies;
    };
    stack.run([] {
        unsigned char copy[1024];
        std::memcpy(copy, stored.data(), std::min(sizeof copy, stored.size()));
        asm volatile("" : : "r"(copy) : "memory");
    });
    EXPECT_GT(count(), 0); // that is, the test can see it
    stack = {};
    stack.run([] { (void)StateCodec::decode_public(stored).spec; });
    EXPECT_EQ(count(), 0);
    stack = {};
    stack.run([] {
        const PreparedMechanism prepared(StateCodec::decode_public(stored).spec);
        const test::Block memory = test::block_of(CounterState::bytes(prepared));
        (void)StateCodec::decode(StateCodec::decode_public(stored), prepared, memory.get());
    });
    EXPECT_EQ(count(), 0);
}

TEST(StateCodec, FindsEveryFlippedBit) {
    Keystream random;
    Counter counter(counter_request(100, 1, 3));
    for (int step = 1; step <= 50; ++step)
        (void)counter.advance(step, random);
    Bytes bytes = counter.encode();
    for (std::size_t i = 0; i < bytes.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            bytes[i] ^= static_cast<unsigned char>(1 << bit);
            expect_corrupt(bytes);
            bytes[i] ^= static_cast<unsigned char>(1 << bit);
        }
}

TEST(StateCodec, FindsEveryTruncationAndAnythingBehind) {
    Keystream random;
    Counter counter(counter_request(100, 1, 3));
    (void)counter.advance(1, random);
    const Bytes bytes = counter.encode();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Bytes shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        expect_corrupt(shorter);
        if (size >= 32) { // with a checksum that is right
            seal(shorter);
            expect_corrupt(shorter);
        }
    }
    for (const std::size_t more : {1, 8, 100}) {
        Bytes longer = bytes;
        longer.resize(bytes.size() + more);
        expect_corrupt(longer);
        seal(longer);
        expect_corrupt(longer);
    }
}

TEST(StateCodec, ShowsWhatWasAskedForInEveryEpoch) {
    Keystream random;
    for (const Request& request : {counter_request(1000, 0.5), counter_request(kUnbounded, 1),
                                   counter_request(kUnbounded, 1, 19)}) {
        Counter counter(request);
        for (int step = 0; step <= 500; ++step) {
            if (step % 100 == 0) {
                EXPECT_EQ(StateCodec::decode_public(counter.encode()).request, request) << step;
            }
            (void)counter.advance(step, random);
        }
    }
}

TEST(StateCodec, NamesAVersionThatItDoesNotKnow) {
    Counter counter(counter_request(100, 1));
    const Bytes bytes = with<std::uint16_t>(counter.encode(), kVersion, 2);
    try {
        (void)StateCodec::decode_public(bytes).spec;
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::corrupt);
        EXPECT_NE(std::string(error.what()).find("version"), std::string::npos);
    }
}

TEST(StateCodec, RefusesValuesOutOfRangeWithARightChecksum) {
    Keystream random;
    Counter counter(counter_request(100, 1, 3));
    for (int step = 1; step <= 14; ++step) // 14 = 1 2 2 = 1 -1 -1 -1
        (void)counter.advance(step, random);
    const Bytes good = counter.encode();
    {
        Bytes same = good;
        seal(same);
        ASSERT_EQ(same, good);
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const std::int64_t horizon : {-1L, 101L, 99L, 0L + (1L << 62) + 1, kMost}) {
        expect_corrupt(with(good, kHorizon, horizon));
        expect_corrupt(with(good, kEpochHorizon, horizon));
    }
    expect_corrupt(with<std::int64_t>(good, kEpochHorizon, 0));
    for (const double epsilon : {0.0, -1.0, 1e-10, 1e10, kNan, kInfinity})
        expect_corrupt(with(good, kEpsilon, epsilon));
    for (const std::int64_t sensitivity : {-1L, 0L, (1L << 36) / 3, kMost}) // height 4
        expect_corrupt(with(good, kSensitivity, sensitivity));
    for (const std::int32_t k : {-1, 1, 65536, std::numeric_limits<std::int32_t>::min()}) {
        expect_corrupt(with(good, kRadix, k));
        expect_corrupt(with(good, kEpochRadix, k));
    }
    expect_corrupt(with<std::int32_t>(good, kEpochRadix, 65535)); // another shape
    for (const std::uint8_t mechanism : {3, 77}) {
        expect_corrupt(with(good, kMechanism, mechanism));
        expect_corrupt(with(good, kEpochMechanism, mechanism));
    }
    expect_corrupt(with<std::uint8_t>(good, kEpochMechanism, 255));
    expect_corrupt(with<std::uint8_t>(good, kEpochMechanism, 1)); // another shape
    for (const std::int64_t step : {-1L, 0L, 13L, 15L, 101L, kMost})
        expect_corrupt(with(good, kStep, step));
    for (const std::int64_t start : {-1L, 1L, 14L, 15L})
        expect_corrupt(with(good, kEpochStart, start));
    for (const std::int64_t epoch : {-1L, 1L, kMost})
        expect_corrupt(with(good, kEpoch, epoch));
    expect_corrupt(with<std::int64_t>(good, kCarried, 1));
    for (const double variance : {-1.0, 1.0, kNan, kInfinity})
        expect_corrupt(with(good, kCarriedVariance, variance));
    for (const double variance : {-1.0, kNan, kInfinity})
        expect_corrupt(with(good, kVariance, variance));
}

// An epoch for which hats of the k that was asked for do not fit.
TEST(StateCodec, ReadsAnEpochOfAnotherMechanism) {
    Keystream random;
    Counter counter(counter_request(kUnbounded, 1e-6, 2, Mechanism::hat));
    int step = 0;
    while (counter.state().spec().radix == 2)
        (void)counter.advance(++step, random);
    EXPECT_EQ(epoch_begin(epoch_of(step)), step - 1);
    for (int i = 0; i < 20; ++i) {
        Counter stored(counter.encode());
        EXPECT_TRUE(stored.state().request() == counter.state().request());
        EXPECT_EQ(stored.encode(), counter.encode());
        (void)counter.advance(++step, random);
    }
}

TEST(StateCodec, RefusesAnEpochOfAnotherLength) {
    Counter counter(counter_request(kUnbounded, 1, 3));
    const Bytes good = counter.encode();
    const std::int64_t longer = epoch_length(0) + 1;
    ASSERT_EQ(DigitSystem::offset(3).height(longer), counter.state().spec().height);
    expect_corrupt(with(good, kEpochHorizon, longer)); // of the same shape
}

TEST(StateCodec, RefusesAShapeThatNoPlanHas) {
    Counter counter(counter_request(1000, 1, {}, Mechanism::hat));
    const Bytes good = counter.encode();
    const int levels = counter.state().spec().height - 1;
    ASSERT_GT(levels, 0);
    constexpr std::size_t kEnd = 48, kLattice = 49, kLevels = 50, kFirst = 51;
    for (const std::uint8_t value : {2, 255})
        expect_corrupt(with(good, kEnd, value));
    for (const std::uint8_t value : {0, 1, 7, 63, 255})
        expect_corrupt(with(good, kLattice, value));
    for (const std::uint8_t value : {0, 1, 3, 62, 63, 255})
        if (value != levels)
            expect_corrupt(with(good, kLevels, value));
    for (int l = 0; l < levels; ++l) {
        const std::size_t at = kFirst + 16 * static_cast<std::size_t>(l);
        for (const std::int32_t radix : {-1, 0, 1, 4097, 1 << 30})
            expect_corrupt(with(good, at, radix));
        for (const std::int32_t offset : {-1, 1 << 20, 1 << 30})
            expect_corrupt(with(good, at + 4, offset));
        for (const std::int64_t knots :
             {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 40,
              std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
            expect_corrupt(with(good, at + 8, knots));
    }
    Counter per_step(counter_request(5, 1, {}, Mechanism::hat)); // nothing to fade or to share
    ASSERT_EQ(per_step.state().spec().height, 1);
    expect_corrupt(with<std::uint8_t>(per_step.encode(), kEnd, 1));
    for (const std::uint8_t bits : {1, 2, 6, 255})
        expect_corrupt(with(per_step.encode(), kLattice, bits));
}

// Found by fuzzing: so few knots that the last one's cell has millions of children, all in tables.
TEST(StateCodec, RefusesALevelWithoutMeasure) {
    constexpr std::size_t kFirst = 51;
    Counter counter(counter_request(6'000'000, 1, 100, Mechanism::hat));
    Bytes bytes = with<std::int64_t>(counter.encode(), kFirst + 8, 64);
    for (int l = 1; l + 1 < counter.state().spec().height; ++l)
        bytes = with<std::int64_t>(bytes, kFirst + 16 * static_cast<std::size_t>(l) + 8, 1);
    EXPECT_THROW((void)StateCodec::decode_public(bytes).spec, Error);
}

/// Any engine integer changed: refused, or a state that can be used without harm.
TEST(StateCodec, NoEngineIntegerCanDoHarm) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    Keystream random;
    for (const auto& [k, mechanism] : kShapes) {
        Counter counter(counter_request(100, 1, k, mechanism));
        for (int step = 1; step <= 14; ++step)
            (void)counter.advance(step, random);
        const Bytes good = counter.encode();
        int refused = 0;
        const std::size_t levels =
            counter.state().spec().is_tree()
                ? 0
                : 2 + 16 * static_cast<std::size_t>(counter.state().spec().height - 1);
        for (std::size_t at = kEngine + levels; at + 32 < good.size(); at += 8)
            for (const std::int64_t value : {kLeast, kLeast + 1, -1'000L, 1'000L, kMost}) {
                try {
                    Counter changed(with(good, at, value));
                    for (int step = 15; step <= 100; ++step)
                        (void)changed.advance(step, random);
                } catch (const Error&) {
                    ++refused;
                }
            }
        EXPECT_GT(refused, 0);
    }
}

} // namespace
} // namespace dp_counter
