#include "core/count/anchored_state.hpp"

#include "core/base/limits.hpp"
#include "core/count/byte_codec.hpp"

namespace dp_counter {

namespace {

constexpr unsigned char kMagic[4] = {'D', 'P', 'A', 'S'};
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kHeadBytes = 22;
constexpr std::int64_t kNoiseEnd = std::int64_t{1} << 62;

} // namespace

std::size_t AnchoredState::bytes(CounterState* increments) {
    const std::size_t rest = increments == nullptr ? 0 : StateCodec::encoded_bytes(*increments);
    return kHeadBytes + rest + kChecksumBytes;
}

void AnchoredState::encode(CounterState* increments, unsigned char* out) const {
    ByteWriter writer(out);
    writer.raw(kMagic);
    writer.integer(kVersion);
    writer.integer(step);
    writer.integer(anchor);
    if (increments != nullptr) {
        StateCodec::encode(*increments, out + kHeadBytes);
        writer.raw({out + kHeadBytes, StateCodec::encoded_bytes(*increments)}); // where they are
    }
    writer.checksum();
}

StateCodec::Bytes AnchoredState::decode(StateCodec::Bytes bytes, const AnchoredLaw& law) {
    ByteReader reader(checked(bytes, kMagic, kVersion));
    step = reader.integer<std::int64_t>(0, kMaxHorizon);
    anchor = reader.integer<std::int64_t>(-kNoiseEnd, kNoiseEnd);
    require(anchor == 0 || step % law.block != 0);
    require(has_increments(law) == !reader.rest().empty());
    return reader.rest();
}

void AnchoredState::check_increments(const AnchoredLaw& law, const CounterState& increments) const {
    require(increments.request() == law.increments());
    require(increments.step() == law.increments_at(step));
}

} // namespace dp_counter
