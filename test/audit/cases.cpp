#include "audit/cases.hpp"

#include <cstdio>
#include <set>

namespace dp_counter::test {

namespace {

/// Every mechanism that SQL knows, and the choice of the best.
constexpr const char* kMechanisms[] = {"subtraction", "plain", "hat", nullptr};

Request request(const char* mechanism, std::int32_t k, std::int64_t horizon, double epsilon) {
    Request result{horizon, Epsilon(epsilon), {}, {}};
    if (k != 0)
        result.radix = k;
    if (mechanism != nullptr)
        result.mechanism = mechanism_from_name(mechanism);
    return result;
}

/// First step, last child and first child of a block, one where a hat's end fades, and the last
/// step.
std::vector<std::int64_t> places(std::int32_t k, std::int64_t horizon) {
    const std::int64_t border = k == 0 ? horizon / 2 : k;
    const std::int64_t late = k == 0 ? horizon - horizon / 6 : border;
    std::set<std::int64_t> result{1, horizon};
    for (const std::int64_t place : {border, border + 1, horizon / 2 + 1, late})
        if (place <= horizon)
            result.insert(place);
    return {result.begin(), result.end()};
}

Case make_case(const char* mechanism, std::int32_t k, std::int64_t horizon, double epsilon,
               std::vector<std::int64_t> places) {
    return {request(mechanism, k, horizon, epsilon), horizon, std::move(places)};
}

/// No horizon: steps on both sides of the first epoch's end, after step 14.
Case unbounded(double epsilon, std::vector<std::int64_t> places) {
    return {request(nullptr, 0, kUnbounded, epsilon), 24, std::move(places)};
}

} // namespace

std::vector<Case> small_cases() {
    constexpr double kEpsilon = 2; // at which defects are seen best
    std::vector<Case> cases;
    cases.push_back(unbounded(kEpsilon, {1, 14, 15}));
    for (const char* mechanism : kMechanisms) {
        if (mechanism == nullptr) {
            cases.push_back(make_case(mechanism, 0, 60, kEpsilon, {1, 30, 54, 60}));
            continue;
        }
        cases.push_back(make_case(mechanism, 3, 8, kEpsilon, {1, 4}));
        cases.push_back(make_case(mechanism, 2, 7, kEpsilon, {1, 4}));
    }
    return cases;
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const char* mechanism : kMechanisms)
        for (const double epsilon : {0.2, 1.0, 4.0}) {
            if (mechanism != nullptr)
                for (const std::int32_t k : {2, 3, 4, 19})
                    for (const std::int64_t horizon : {8, 40, 400})
                        if (k < horizon && (horizon < 400 || k == 19))
                            cases.push_back(
                                make_case(mechanism, k, horizon, epsilon, places(k, horizon)));
            for (const std::int64_t horizon : {8, 60, 500})
                cases.push_back(make_case(mechanism, 0, horizon, epsilon, places(0, horizon)));
        }
    for (const double epsilon : {0.2, 1.0, 4.0})
        cases.push_back(unbounded(epsilon, {1, 7, 14, 15, 24}));
    return cases;
}

std::string name_of(const Case& one) {
    const Request& request = one.request;
    char text[96];
    const std::string horizon =
        request.horizon == kUnbounded ? "none" : std::to_string(request.horizon);
    (void)std::snprintf(text, sizeof text, "%-11s k=%-4s T=%-4s",
                        request.mechanism ? mechanism_name(*request.mechanism) : "(best)",
                        request.radix ? std::to_string(*request.radix).c_str() : "best",
                        horizon.c_str());
    return text;
}

std::vector<std::int64_t> steps_to_watch(const MechanismSpec& spec, std::int64_t last,
                                         std::int64_t place) {
    constexpr std::int64_t kShort = 24;
    std::set<std::int64_t> steps;
    const auto watch = [&](std::int64_t step) {
        if (step >= 1 && step <= last)
            steps.insert(step);
    };
    if (last <= kShort) {
        for (std::int64_t t = 1; t <= last; ++t)
            watch(t);
        return {steps.begin(), steps.end()};
    }
    for (const std::int64_t t : {std::int64_t{1}, std::int64_t{2}, place - 2, place - 1, place,
                                 place + 1, place + 2, last - 1, last})
        watch(t);
    // Borders of blocks, in the paper's trees of this radix, and two siblings further.
    std::int64_t block = 1;
    for (int level = 1; level < spec.height; ++level) {
        block *= spec.is_tree() ? spec.radix : spec.levels.level[level - 1].radix;
        const std::int64_t before = (place - 1) / block * block;
        for (int sibling = -1; sibling <= 3; ++sibling)
            watch(before + sibling * block);
    }
    return {steps.begin(), steps.end()};
}

std::vector<bool> stream_of_bits(std::int64_t steps, std::int64_t place, bool bit) {
    std::vector<bool> bits(static_cast<std::size_t>(steps));
    for (std::size_t i = 0; i < bits.size(); ++i)
        bits[i] = i % 3 == 0;
    bits[static_cast<std::size_t>(place - 1)] = bit;
    return bits;
}

} // namespace dp_counter::test
