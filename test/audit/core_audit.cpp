#include "audit/core_audit.hpp"

#include "audit/audit.hpp"
#include "audit/core_streams.hpp"

namespace dp_counter::test {

namespace {

Audit audit_place(const Mechanics& mechanics, std::int64_t place, std::size_t runs, double error,
                  RandomSource& random) {
    const std::vector<std::int64_t> watched =
        steps_to_watch(mechanics.spec(), mechanics.steps(), place);
    const auto releases = [&](bool bit) {
        return mechanics.release(stream_of_bits(mechanics.steps(), place, bit), watched, runs,
                                 random);
    };
    return audit(releases(true), releases(false), error);
}

} // namespace

Verdict audit_case(const Case& one, std::size_t runs, double error, bool half_noise,
                   RandomSource& random) {
    const Mechanics right(one.request, one.steps);
    const Mechanics half(one.request, one.steps, 0.5);
    const double share = error / static_cast<double>(one.places.size());
    Verdict verdict{one.request.unit.epsilon.value(), 0, 0, {}};
    for (const std::int64_t place : one.places) {
        const Audit result = audit_place(right, place, runs, share, random);
        if (result.epsilon >= verdict.bound) {
            verdict.bound = result.epsilon;
            verdict.event = "bit " + std::to_string(place) + ": " +
                            result.event.text(steps_to_watch(right.spec(), one.steps, place));
        }
        if (half_noise)
            verdict.half_noise =
                std::max(verdict.half_noise, audit_place(half, place, runs, share, random).epsilon);
    }
    return verdict;
}

} // namespace dp_counter::test
