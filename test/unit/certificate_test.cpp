// What every mechanism spends, computed from the noise that it adds: exactly epsilon.
// `make certificate` builds and runs this alone; `build/audit/core certificate` has more and longer
// streams.
#include "audit/certificate.hpp"

#include <gtest/gtest.h>

namespace dp_counter {
namespace {

using namespace test;

std::vector<Case> cases() {
    std::vector<Case> result = small_cases();
    for (const std::int32_t k : {0, 2, 4, 19}) {
        Request request{40, PrivacyUnit(Epsilon(0.25), 3), {}, Mechanism::hat};
        if (k != 0)
            request.radix = k;
        result.push_back({request, 40, {}});
    }
    return result;
}

TEST(Certificate, EveryMechanismSpendsExactlyEpsilon) {
    for (const Case& one : cases()) {
        const double epsilon = one.request.unit.epsilon.value();
        const Certified c = certify(one);
        EXPECT_TRUE(c.is_exactly(epsilon)) << name_of(one) << " spends " << c.loss.spent << " of "
                                           << epsilon << " at step " << c.step;
    }
}

// Steps whose noise is drawn for them alone: r is a, and what it costs is known.
TEST(Certificate, OfNoisePerStepIsKnown) {
    const Certificate certificate({5, PrivacyUnit(Epsilon(0.5), 3), 8, Mechanism::plain}, 5);
    for (std::int64_t step = 1; step <= 5; ++step) {
        const Certificate::Loss loss = certificate.loss(step);
        EXPECT_NEAR(loss.spent, 0.5, 1e-12);
        EXPECT_NEAR(loss.least, 0.5, 1e-12);
    }
}

} // namespace
} // namespace dp_counter
