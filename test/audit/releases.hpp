// Many releases of one stream: what an adversary may look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dp_counter::test {

/// `runs` independent evaluations of one stream, each at the same `steps`.
class Releases {
public:
    static constexpr std::size_t kQuarters = 4;

    explicit Releases(std::vector<std::int64_t> steps) : steps_(std::move(steps)) {}

    [[nodiscard]] const std::vector<std::int64_t>& steps() const { return steps_; }
    [[nodiscard]] std::size_t width() const { return steps_.size(); }
    [[nodiscard]] std::size_t runs() const { return values_.size() / width(); }

    /// The releases of one run, one for each of the steps.
    [[nodiscard]] const std::int64_t* run(std::size_t index) const {
        return values_.data() + index * width();
    }
    /// The first `runs` of a quarter of all, 0 to 3, to which they are dealt in turn. Runs that a
    /// defect ties to each other lie beside each other: a quarter that has few of these bundles
    /// shows events that hold for them alone.
    [[nodiscard]] std::vector<const std::int64_t*> quarter(std::size_t number,
                                                           std::size_t runs) const {
        std::vector<const std::int64_t*> result;
        result.reserve(runs);
        for (std::size_t i = 0; i < runs; ++i)
            result.push_back(run(kQuarters * i + number));
        return result;
    }
    void add(std::int64_t value) { values_.push_back(value); }
    void reserve(std::size_t runs) { values_.reserve(runs * width()); }

private:
    std::vector<std::int64_t> steps_;
    std::vector<std::int64_t> values_;
};

} // namespace dp_counter::test
