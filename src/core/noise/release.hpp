// A release that has begun: its unit of privacy is stated, so its noise may be drawn.
#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "core/noise/box_noise.hpp"
#include "core/noise/discrete_laplace.hpp"
#include "core/noise/privacy_unit.hpp"
#include "core/noise/random_source.hpp"
#include "core/noise/sparse_noise.hpp"

namespace dp_counter {

/// The right to draw noise, for a release whose unit of privacy is stated. Nothing else draws from
/// a sampler: noise without an epsilon does not compile. Trivially copyable; the random source must
/// outlive it.
class Release {
public:
    Release(const PrivacyUnit& unit, RandomSource& random) noexcept
        : unit_(unit), random_(&random) {}

    [[nodiscard]] const PrivacyUnit& unit() const noexcept { return unit_; }

    /// The noise of one node. Throws std::logic_error for a sampler of another epsilon, or of less
    /// noise than one level of nodes needs; Error (overflow) as DiscreteLaplace::draw does.
    [[nodiscard]] std::int64_t draw(const DiscreteLaplace& sampler) const {
        if (!covers(sampler.scale())) [[unlikely]]
            throw_foreign();
        return sampler.draw(*random_);
    }

    /// The secret radius of a block of box noise, and the noise of a step within it. Throws as
    /// above.
    [[nodiscard]] std::int64_t draw_radius(const BoxNoise& sampler) const {
        check(sampler);
        return sampler.draw_radius(*random_);
    }
    [[nodiscard]] std::int64_t draw_within(const BoxNoise& sampler, std::int64_t radius) const {
        check(sampler);
        return BoxNoise::draw_within(radius, *random_);
    }

    /// How many cells have noise that reaches the threshold, such a noise, and a number below
    /// `end`.
    [[nodiscard]] std::uint64_t draw_reaching(const SparseNoise& sampler) const {
        check(sampler);
        return sampler.draw_reaching(*random_);
    }
    [[nodiscard]] std::int64_t draw_shown(const SparseNoise& sampler) const {
        check(sampler);
        return sampler.draw_shown(*random_);
    }
    [[nodiscard]] uint128 draw_below(uint128 end) const {
        return SparseNoise::draw_below(end, *random_);
    }

private:
    [[nodiscard]] bool covers(const LaplaceScale& scale) const noexcept {
        const auto epsilon = [](const Epsilon& e) {
            return std::bit_cast<std::uint64_t>(e.value());
        };
        const uint128 least = static_cast<uint128>(unit_.sensitivity) * scale.divisor;
        const bool less = scale.sensitivity < least;
        return ((epsilon(scale.epsilon) ^ epsilon(unit_.epsilon)) | (less ? 1U : 0U)) == 0;
    }
    template <class Sampler>
    void check(const Sampler& sampler) const {
        if (!covers(sampler.law().scale())) [[unlikely]]
            throw_foreign();
    }
    [[noreturn]] static void throw_foreign() {
        throw std::logic_error("a sampler of another price than the release's");
    }

    PrivacyUnit unit_;
    RandomSource* random_;
};

static_assert(std::is_trivially_copyable_v<Release>);

} // namespace dp_counter
