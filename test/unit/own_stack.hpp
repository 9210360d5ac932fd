// What a function leaves behind on its stack.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include <ucontext.h>

namespace dp_counter::test {

/// Runs a function on a stack of its own, which can be looked at afterwards.
class OwnStack {
public:
    void run(void (*function)()) {
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack_.data();
        context_.uc_stack.ss_size = stack_.size();
        context_.uc_link = &caller_;
        makecontext(&context_, function, 0);
        swapcontext(&caller_, &context_);
    }
    [[nodiscard]] bool remembers(const void* bytes, std::size_t size) const {
        return memmem(stack_.data(), stack_.size(), bytes, size) != nullptr;
    }

private:
    std::vector<unsigned char> stack_ = std::vector<unsigned char>(std::size_t{1} << 18);
    ucontext_t context_{};
    ucontext_t caller_{};
};

} // namespace dp_counter::test
