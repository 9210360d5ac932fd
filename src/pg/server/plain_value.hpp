// Persons and groups as bytes: two values of a column are equal if and only if their bytes are.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Bytes: a number's own, or somewhere in a datum. Trivial.
struct PlainValue {
    const unsigned char* elsewhere; ///< null for a number
    int size;
    unsigned char number[8];

    [[nodiscard]] const unsigned char* bytes() const {
        return elsewhere != nullptr ? elsewhere : number;
    }
};

/// Whether persons may have this type: integers, uuid, bytea, and text or varchar whose equality is
/// that of their bytes. Groups may also be boolean or an enum.
[[nodiscard]] bool is_person_type(Oid type, Oid collation);
[[nodiscard]] bool is_group_type(Oid type, Oid collation);

/// The type whose values have the same bytes as those of this one: bigint for all integers, text
/// for varchar, else itself.
[[nodiscard]] Oid plain_type(Oid type);

/// The bytes of a datum of such a type: integers of all widths have one form. May detoast.
void read_plain(Oid type, Datum value, PlainValue& plain);

/// A hash of the bytes, by a key of crypto_shorthash_KEYBYTES bytes: nobody else can make two
/// collide.
[[nodiscard]] std::uint64_t hash_plain(const PlainValue& plain, const unsigned char* key);

/// An SQL expression of a value's text. A cast of a type that somebody has made could be a function
/// of that role, run by whoever reads the value, so such a type is written by its output function.
[[nodiscard]] const char* sql_of_text(const char* value, Oid type);

/// Byte by byte, the shorter one first.
[[nodiscard]] int compare_plain(const PlainValue& a, const PlainValue& b);

} // namespace dp_counter::pg
