#include "core/count/box_state.hpp"

#include <cstring>

#include <sodium.h>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"

namespace dp_counter {

namespace {

constexpr unsigned char kHead[] = {'D', 'P', 'B', 'S', 1, 0};
constexpr std::size_t kNumbers = sizeof kHead;
constexpr std::size_t kChecksum = kNumbers + 2 * sizeof(std::int64_t);
constexpr std::size_t kChecksumBytes = BoxState::kBytes - kChecksum;

void write(unsigned char* out, std::int64_t number) {
    for (std::size_t i = 0; i < sizeof number; ++i)
        out[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (8 * i));
}

std::int64_t read(const unsigned char* bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = sizeof number; i-- > 0;)
        number = number << 8 | bytes[i];
    return static_cast<std::int64_t>(number);
}

void require(bool condition) {
    if (!condition)
        throw Error(Fault::corrupt, "the stored state of the counter is corrupt",
                    "Restore the extension's tables from a backup, or drop the counter.");
}

} // namespace

void BoxState::encode(unsigned char* out) const {
    std::memcpy(out, kHead, sizeof kHead);
    write(out + kNumbers, step);
    write(out + kNumbers + sizeof step, radius);
    crypto_generichash(out + kChecksum, kChecksumBytes, out, kChecksum, nullptr, 0);
}

void BoxState::decode(std::span<const unsigned char> bytes, std::int32_t size) {
    require(bytes.size() == kBytes);
    unsigned char sum[kChecksumBytes];
    crypto_generichash(sum, sizeof sum, bytes.data(), kChecksum, nullptr, 0);
    require(std::memcmp(sum, bytes.data() + kChecksum, sizeof sum) == 0);
    require(std::memcmp(bytes.data(), kHead, sizeof kHead) == 0);
    step = read(bytes.data() + kNumbers);
    radius = read(bytes.data() + kNumbers + sizeof step);
    require(step >= 0 && step <= kMaxHorizon);
    require(radius >= 0 && radius < BoxNoise::kRadiusEnd);
    require(radius == 0 || step % size != 0);
}

} // namespace dp_counter
