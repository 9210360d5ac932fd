// Computes the energies of the epochs' mechanisms and prints src/core/hat/hat_energy_table.inc.
//
//   make all && g++ -std=c++20 -O2 -Isrc tools/make_energy_table.cpp src/core/*/*.o -lsodium
//       -o /tmp/make_energy_table
//   /tmp/make_energy_table > src/core/hat/hat_energy_table.inc        (a second)
//
// To be run after every change of the epochs or of the weights of hats; a unit test fails until
// then.
#include <cstdio>

#include "core/count/epochs.hpp"
#include "core/hat/hat_variance.hpp"

namespace {

using namespace dp_counter;

void print(const HatRowNorms& energy, int height) {
    std::printf("{{");
    for (int l = 0; l < height; ++l)
        std::printf("%s%.17g", l > 0 ? ", " : "", energy.level[l]);
    std::printf("}}");
}

} // namespace

int main() {
    std::printf("// Made by tools/make_energy_table.cpp. {fingerprint, peak step, mean energy per "
                "level, energy at the peak}\n");
    const Epsilon epsilon(1);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
        const HatLevels spec = epoch_levels(epoch, epsilon);
        const HatWeightsBlock plan(spec);
        const std::int64_t peak = hat_peak(plan.get(), epsilon);
        std::printf("{0x%016llx, %lld, ", static_cast<unsigned long long>(fingerprint(spec)),
                    static_cast<long long>(peak));
        print(hat_mean_row_norms(plan.get()), spec.height);
        std::printf(", ");
        print(hat_row_norms_at(plan.get(), peak), spec.height);
        std::printf("},\n");
    }
}
