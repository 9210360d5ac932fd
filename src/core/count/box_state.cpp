#include "core/count/box_state.hpp"

#include "core/base/limits.hpp"
#include "core/count/byte_codec.hpp"

namespace dp_counter {

namespace {

constexpr unsigned char kMagic[4] = {'D', 'P', 'B', 'S'};
constexpr std::uint16_t kVersion = 1;

} // namespace

void BoxState::encode(unsigned char* out) const {
    ByteWriter writer(out);
    writer.raw(kMagic);
    writer.integer(kVersion);
    writer.integer(step);
    writer.integer(radius);
    writer.checksum();
}

void BoxState::decode(std::span<const unsigned char> bytes, std::int32_t size) {
    ByteReader reader(checked(bytes, kMagic, kVersion));
    step = reader.integer<std::int64_t>(0, kMaxHorizon);
    radius = reader.integer<std::int64_t>(0, BoxNoise::kRadiusEnd - 1);
    require(radius == 0 || step % size != 0);
    require(reader.rest().empty());
}

} // namespace dp_counter
