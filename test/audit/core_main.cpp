// Audits every case through the core and prints a table.
//
// usage: core small|all|mutant [RUNS]     exit status 1 if a bound exceeds its epsilon
//        core certificate small|all       exit status 1 unless every epsilon is spent exactly
//
// mutant: the small cases without the second audit that measures the power.
// certificate: no statistics; what each mechanism spends is computed (certificate.hpp).
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sodium.h>

#include "audit/certificate.hpp"
#include "audit/core_audit.hpp"
#include "core/noise/keystream.hpp"

using namespace dp_counter;
using namespace dp_counter::test;

namespace {

int print_certificates(const std::vector<Case>& cases) {
    std::printf("%-28s %8s %8s\n", "mechanism", "epsilon", "spent");
    int failures = 0;
    for (const Case& one : cases) {
        const double epsilon = one.request.unit.epsilon.value();
        const Certified c = certify(one);
        const bool passes = c.is_exactly(epsilon);
        failures += passes ? 0 : 1;
        std::printf("%-28s %8.3g %8.3f%s\n", name_of(one).c_str(), epsilon, c.loss.spent,
                    passes                   ? ""
                    : c.loss.spent > epsilon ? (" EXCEEDED: bit " + std::to_string(c.step)).c_str()
                                             : " NOT SPENT");
        std::fflush(stdout);
    }
    std::printf("\n%zu cases, %d that do not spend exactly epsilon\n", cases.size(), failures);
    return failures == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (sodium_init() < 0)
        return 2;
    const std::string_view mode = argc > 1 ? argv[1] : "small";
    if (mode == "certificate")
        return print_certificates(argc > 2 && argv[2] == std::string_view("all") ? all_cases()
                                                                                 : small_cases());
    const bool all = mode == "all";
    const std::size_t runs = argc > 2           ? std::strtoul(argv[2], nullptr, 10)
                             : all              ? 200000
                             : mode == "mutant" ? 160000
                                                : 80000;
    constexpr double kError = 0.001; // of all bounds together
    const std::vector<Case> cases = all ? all_cases() : small_cases();

    Keystream random;
    std::printf("%zu releases of each neighbor; all bounds hold together with confidence %g\n\n",
                runs, 1 - kError);
    const bool with_power = mode != "mutant";
    std::printf("%-28s %8s %8s", "mechanism", "epsilon", "bound");
    std::printf(with_power ? " %10s %6s\n" : "\n", "half noise", "seen");
    int failures = 0;
    for (const Case& one : cases) {
        const Verdict v =
            audit_case(one, runs, kError / static_cast<double>(cases.size()), with_power, random);
        failures += v.passes() ? 0 : 1;
        std::printf("%-28s %8.3g %8.3f", name_of(one).c_str(), v.epsilon, v.bound);
        if (with_power)
            std::printf(" %10.3f %5.0f%%", v.half_noise, 100 * v.seen());
        std::printf("%s\n", v.passes() ? "" : (" EXCEEDED: " + v.event).c_str());
        std::fflush(stdout);
    }
    std::printf("\n%zu cases, %d with a bound above the stated epsilon\n", cases.size(), failures);
    return failures == 0 ? 0 : 1;
}
