// Many releases of one stream: what an adversary may look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dp_counter::test {

/// `runs` independent evaluations of one stream, each at the same `steps`.
class Releases {
public:
    explicit Releases(std::vector<std::int64_t> steps) : steps_(std::move(steps)) {}

    [[nodiscard]] const std::vector<std::int64_t>& steps() const { return steps_; }
    [[nodiscard]] std::size_t width() const { return steps_.size(); }
    [[nodiscard]] std::size_t runs() const { return values_.size() / width(); }

    /// The releases of one run, one for each of the steps.
    [[nodiscard]] const std::int64_t* run(std::size_t index) const {
        return values_.data() + index * width();
    }
    void add(std::int64_t value) { values_.push_back(value); }
    void reserve(std::size_t runs) { values_.reserve(runs * width()); }

private:
    std::vector<std::int64_t> steps_;
    std::vector<std::int64_t> values_;
};

} // namespace dp_counter::test
