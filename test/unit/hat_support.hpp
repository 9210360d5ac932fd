// What the tests of hats share: plans in memory, and the factorization A = L R in exact
// rationals, R from the definition of the levels and L from the weights that the code uses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include <gmpxx.h>

#include "core/hat/hat_levels.hpp"
#include "core/hat/hat_noise.hpp"
#include "core/hat/hat_weights.hpp"

namespace dp_counter {

inline std::ostream& operator<<(std::ostream& out, const HatLevels& spec) {
    out << "hat T = " << spec.horizon;
    for (int l = 1; l < spec.height; ++l)
        out << " (" << spec.level[l - 1].radix << ", " << spec.level[l - 1].offset << ", "
            << spec.level[l - 1].knots << ")";
    if (spec.end == HatLevels::End::fading)
        out << " fading";
    return out;
}

namespace test {

/// A block of bytes for a plan or a state.
class HatBlock {
public:
    explicit HatBlock(std::size_t bytes) : words_(new uint128[bytes / sizeof(uint128) + 1]) {}
    [[nodiscard]] void* get() const { return words_.get(); }

private:
    std::unique_ptr<uint128[]> words_;
};

struct OwnedWeights {
    explicit OwnedWeights(const HatLevels& spec)
        : block(HatWeights::bytes(spec)), weights(HatWeights::create(block.get(), spec)) {}
    [[nodiscard]] const HatWeights& operator*() const { return *weights; }
    HatBlock block;
    HatWeights* weights;
};

struct OwnedNoise {
    explicit OwnedNoise(const HatWeights& weights)
        : block(HatNoise::bytes(weights)), noise(HatNoise::create(block.get(), weights)) {}
    HatBlock block;
    HatNoise* noise;
};

/// Level and number of a node.
using HatNode = std::pair<int, std::int64_t>;

inline mpz_class to_mpz(int128 value) {
    const bool negative = value < 0;
    const auto magnitude = static_cast<uint128>(negative ? -value : value);
    mpz_class result = static_cast<unsigned long>(magnitude >> 64);
    result <<= 64;
    result += static_cast<unsigned long>(magnitude);
    return negative ? mpz_class(-result) : result;
}

/// The row of L at step t.
inline std::map<HatNode, mpq_class> row_of_l(const HatWeights& weights, std::int64_t t) {
    std::map<HatNode, mpq_class> row;
    hat_weights(weights, t, [&](int l, std::int64_t k, int128 coefficient) {
        mpq_class entry(to_mpz(coefficient),
                        mpz_class(1) << static_cast<unsigned>(64 - weights.lattice_bits() * l));
        entry.canonicalize();
        if (!row.emplace(HatNode{l, k}, entry).second)
            throw std::logic_error("a node occurs twice");
    });
    return row;
}

/// The column of R for a step, level by level.
inline std::vector<std::map<std::int64_t, mpq_class>> column_of_r(const HatWeights& weights,
                                                                  std::int64_t step) {
    std::vector<std::map<std::int64_t, mpq_class>> column{{{step, 1}}};
    for (int l = 1; l < weights.height(); ++l) {
        std::map<std::int64_t, mpq_class> next;
        for (const auto& [child, weight] : column.back())
            weights.for_each_parent(l, child, [&](std::int64_t knot, std::int32_t share) {
                mpq_class part(share, 1 << weights.lattice_bits());
                part.canonicalize();
                next[knot] += weight * part;
            });
        column.push_back(next);
    }
    return column;
}

/// What R holds of a step is multiplied by this before the noise is scaled: the part of epsilon,
/// out of 1, that a whole node with the noise of this scale spends. Read off the sampler's
/// parameter.
inline mpq_class price(const HatLevels& spec, int scale) {
    const LaplaceScale laplace = hat_scale(spec, PrivacyUnit(Epsilon(1)), scale);
    mpz_class units = to_mpz(static_cast<int128>(laplace.sensitivity));
    const int bits = spec.lattice_bits * spec.level_of(scale);
    mpq_class result(mpz_class(laplace.divisor) << static_cast<unsigned>(bits), units);
    result.canonicalize();
    return result;
}

/// How much of node k of level l a fading top leaves: 1 less what its steps have in the top knots,
/// each weighted by what the node has of it. From the definition, level by level upwards.
inline mpq_class left_by_top(const HatWeights& weights, int l, std::int64_t k) {
    std::map<std::int64_t, mpq_class> nodes{{k, 1}};
    for (; l + 1 < weights.height(); ++l) {
        std::map<std::int64_t, mpq_class> next;
        for (const auto& [child, weight] : nodes)
            weights.for_each_parent(l + 1, child, [&](std::int64_t knot, std::int32_t share) {
                mpq_class part(share, 1 << weights.lattice_bits());
                part.canonicalize();
                next[knot] += weight * part;
            });
        nodes = std::move(next);
    }
    mpq_class left = 1;
    for (const auto& [knot, weight] : nodes)
        left -= weight;
    return left;
}

/// Hats with a fading end: one to four levels, tiny radices, top knots at the very end, a single
/// one, coarse lattices.
inline std::vector<HatLevels> fading_specs() {
    const auto hat = [](std::int64_t horizon, std::vector<HatShape> shapes,
                        int bits = kMostLatticeBits) {
        return hat_levels(horizon, shapes, HatLevels::End::fading, bits);
    };
    return {
        hat(1, {{16, 8}}),
        hat(2, {{2, 0}}),
        hat(9, {{4, 2, -1}}),
        hat(24, {{9, 4, -2}}),
        hat(24, {{9, 6}}, 3),
        hat(37, {{16, 8, 1}}),
        hat(64, {{17, 10, -1}}, 2),
        hat(60, {{5, 2}, {4, 2}}),
        hat(60, {{5, 2, -1}, {4, 2, -2}}, 4),
        hat(60, {{5, 2, 1}, {4, 2, 1}}),
        hat(80, {{4, 2}, {4, 1}, {3, 1, -1}}),
        hat(97, {{7, 9}, {5, 6, -1}}),
        hat(120, {{3, 4}, {2, 3}, {3, 1}, {2, 0, -2}}),
        hat(83, {{2, 0}, {2, 1}, {2, 1}, {2, 2}}),
    };
}

/// Hats of all sorts: no, few and many levels, edges, unequal and tiny radices.
inline std::vector<HatLevels> sample_specs() {
    const auto hat = [](std::int64_t horizon, std::vector<HatShape> shapes) {
        return hat_levels(horizon, shapes);
    };
    std::vector<HatLevels> specs = {
        hat(1, {}),
        hat(10, {}),
        hat(1, {{16, 8}}),
        hat(2, {{2, 0}}),
        hat(9, {{16, 8}}),
        hat(37, {{16, 8}}),
        hat(40, {{13, 20}}),
        hat(60, {{5, 2}, {4, 2}}),
        hat(60, {{5, 2, 1}, {4, 2, 1}}),
        hat(60, {{5, 2, -1}, {4, 2, -1}}),
        hat(80, {{4, 2}, {4, 1}, {3, 1}}),
        hat(81, {{3, 0}, {3, 0}, {3, 0}}),
        hat(83, {{2, 0}, {2, 1}, {2, 1}, {2, 2}}),
        hat(90, {{8, 4}, {8, 4}}),
        hat(97, {{7, 9}, {5, 6}}),
        hat(100, {{19, 12}}),
        hat(120, {{3, 4}, {2, 3}, {3, 1}, {2, 0}}),
    };
    const std::vector<HatLevels> fading = fading_specs();
    specs.insert(specs.end(), fading.begin(), fading.end());
    return specs;
}

} // namespace test
} // namespace dp_counter
