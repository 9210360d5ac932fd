#include "audit/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "core/count/epochs.hpp"
#include "core/count/noise_engine.hpp"
#include "core/count/prepared_mechanism.hpp"
#include "unit/support.hpp"

namespace dp_counter::test {

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The noise of `steps` steps, before it is rounded, of a counter in which the node drawn at place
/// `chosen` draws 1 and all others 0; in units of the chosen node's scale. The epochs of a counter
/// without a horizon follow one another: the last noise of one is carried on. Leaves in `draws` how
/// many nodes were drawn.
Vector column(const std::vector<PreparedMechanism>& epochs, std::int64_t steps, std::size_t chosen,
              std::size_t& draws) {
    double scale = 0;
    Vector noise;
    draws = 0;
    for (const PreparedMechanism& epoch : epochs) {
        const auto draw = [&](int number) -> std::int64_t {
            if (draws++ != chosen)
                return 0;
            scale = epoch.sampler(number).scale().value();
            return 1;
        };
        const Block block = block_of(NoiseEngine::bytes(epoch));
        NoiseEngine* const engine = NoiseEngine::create(block.get(), epoch);
        const double carried = noise.empty() ? 0 : noise.back();
        for (std::int64_t t = 0; t < epoch.spec().horizon && std::ssize(noise) < steps; ++t) {
            const auto units = static_cast<double>(engine->advance(epoch, draw));
            noise.push_back(carried + std::ldexp(units, -64));
        }
    }
    for (double& value : noise)
        value *= scale;
    return noise;
}

} // namespace

Certificate::Certificate(const Request& request, std::int64_t steps)
    : sensitivity_(static_cast<double>(request.unit.sensitivity)) {
    const int last = request.horizon == kUnbounded ? epoch_of(steps) : 0;
    std::vector<PreparedMechanism> epochs;
    for (int epoch = 0; epoch <= last; ++epoch)
        epochs.emplace_back(make_mechanism(request, epoch));
    std::size_t draws = 1;
    for (std::size_t chosen = 0; chosen < draws; ++chosen)
        columns_.push_back(column(epochs, steps, chosen, draws));
}

/// Least sum of |r| with K r = a, by the simplex method. A basic variable may have either sign, so
/// every basis is feasible; the first has noise of its own for every release, at a price that is
/// never worth paying.
Certificate::Loss Certificate::loss(std::int64_t step) const {
    const std::size_t size = columns_.front().size();
    constexpr double kCheap = 1e-4;
    Vector change(size, 0.0);
    std::fill(change.begin() + (step - 1), change.end(), sensitivity_);
    Vector moved = change; // by little, so that no two ways out are equally good
    std::mt19937 random(1);
    for (double& value : moved)
        value += 1e-10 * std::uniform_real_distribution<double>(1, 2)(random);

    std::vector<Vector> inverse(size, Vector(size, 0.0)); // of the basis, row by row
    for (std::size_t i = 0; i < size; ++i)
        inverse[i][i] = 1 / kCheap;
    std::vector<bool> is_node(size, false);
    for (;;) {
        Vector basic(size);
        Vector price(size, 0.0);
        for (std::size_t i = 0; i < size; ++i) {
            basic[i] = dot(inverse[i], moved);
            for (std::size_t j = 0; j < size; ++j)
                price[j] += basic[i] < 0 ? -inverse[i][j] : inverse[i][j];
        }
        const Vector* enters = nullptr;
        double gain = 1;
        for (const Vector& candidate : columns_)
            if (const double worth = dot(price, candidate); std::abs(worth) > std::abs(gain)) {
                gain = worth;
                enters = &candidate;
            }
        if (std::abs(gain) <= 1 + 1e-11) {
            Loss result{0, dot(price, change) / std::abs(gain)};
            for (std::size_t i = 0; i < size; ++i) {
                const double r = std::abs(dot(inverse[i], change));
                if (!is_node[i] && r > 1e-9)
                    throw std::logic_error("a release without noise");
                result.spent += r;
            }
            return result;
        }
        // Move along the column until the sum falls no more: it bends where a variable is 0.
        std::vector<std::pair<double, std::size_t>> bends;
        Vector along(size);
        for (std::size_t i = 0; i < size; ++i) {
            along[i] = dot(inverse[i], *enters);
            if (const double at = basic[i] / along[i] * (gain < 0 ? -1 : 1);
                std::abs(along[i]) > 1e-11 && at >= 0)
                bends.emplace_back(at, i);
        }
        std::sort(bends.begin(), bends.end());
        std::size_t leaves = 0;
        for (double slope = 1 - std::abs(gain); slope < 0; ++leaves)
            slope += 2 * std::abs(along[bends.at(leaves).second]);
        leaves = bends[leaves - 1].second;
        for (double& entry : inverse[leaves])
            entry /= along[leaves];
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; i != leaves && j < size; ++j)
                inverse[i][j] -= along[i] * inverse[leaves][j];
        is_node[leaves] = true;
    }
}

bool Certified::is_exactly(double epsilon) const {
    return std::abs(loss.spent / epsilon - 1) < 1e-9 && gap / epsilon < 1e-9;
}

Certified certify(const Case& one) {
    const Certificate certificate(one.request, one.steps);
    std::vector<std::int64_t> steps = one.places;
    if (one.steps <= 100) {
        steps.resize(static_cast<std::size_t>(one.steps));
        std::iota(steps.begin(), steps.end(), 1);
    }
    Certified result{};
    for (const std::int64_t step : steps) {
        const Certificate::Loss loss = certificate.loss(step);
        result.gap = std::max(result.gap, loss.spent - loss.least);
        if (loss.spent > result.loss.spent) {
            result.loss = loss;
            result.step = step;
        }
    }
    return result;
}

} // namespace dp_counter::test
