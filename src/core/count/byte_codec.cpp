#include "core/count/byte_codec.hpp"

#include <cstring>

#include <sodium.h>

#include "core/base/error.hpp"

namespace dp_counter {

void throw_corrupt() {
    throw Error(Fault::corrupt, "the stored state of the counter is corrupt",
                "Restore the extension's tables from a backup, or drop the counter.");
}

void ByteWriter::checksum() {
    unsigned char sum[kChecksumBytes];
    crypto_generichash(sum, sizeof sum, out_, size_, nullptr, 0);
    raw(sum);
}

ByteReader::Bytes checked(ByteReader::Bytes bytes, std::span<const unsigned char, 4> magic,
                          std::uint16_t version) {
    require(bytes.size() >= kChecksumBytes);
    const std::size_t size = bytes.size() - kChecksumBytes;
    unsigned char sum[kChecksumBytes];
    crypto_generichash(sum, sizeof sum, bytes.data(), size, nullptr, 0);
    require(std::memcmp(sum, bytes.data() + size, kChecksumBytes) == 0);
    require(size >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0);
    ByteReader reader(bytes.first(size).subspan(magic.size()));
    if (reader.integer<std::uint16_t>() != version)
        throw Error(Fault::corrupt, "the stored state of the counter has an unknown version",
                    "A newer version of dp_counter wrote it. Install that version.");
    return reader.rest();
}

} // namespace dp_counter
