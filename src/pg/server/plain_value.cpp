#include <cstring>

#include <sodium.h>

#include "pg/server/plain_value.hpp"

extern "C" {
#include "access/transam.h"
#include "port/pg_bswap.h"
#include "utils/uuid.h"
}

namespace dp_counter::pg {

namespace {

void put_number(PlainValue& plain, std::int64_t value) {
    const std::uint64_t big_endian = pg_hton64(static_cast<std::uint64_t>(value));
    std::memcpy(plain.number, &big_endian, sizeof plain.number);
    plain.elsewhere = nullptr;
    plain.size = sizeof plain.number;
}

} // namespace

bool is_person_type(Oid type, Oid collation) {
    switch (type) {
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case UUIDOID:
    case BYTEAOID:
        return true;
    case TEXTOID:
    case VARCHAROID:
        return !OidIsValid(collation) || get_collation_isdeterministic(collation);
    default:
        return false;
    }
}

bool is_group_type(Oid type, Oid collation) {
    return type == BOOLOID || type_is_enum(type) || is_person_type(type, collation);
}

Oid plain_type(Oid type) {
    switch (type) {
    case INT2OID:
    case INT4OID:
        return INT8OID;
    case VARCHAROID:
        return TEXTOID;
    default:
        return type;
    }
}

void read_plain(Oid type, Datum value, PlainValue& plain) {
    switch (type) {
    case INT2OID:
        put_number(plain, DatumGetInt16(value));
        return;
    case INT4OID:
        put_number(plain, DatumGetInt32(value));
        return;
    case INT8OID:
        put_number(plain, DatumGetInt64(value));
        return;
    case BOOLOID:
        put_number(plain, DatumGetBool(value) ? 1 : 0);
        return;
    case UUIDOID:
        plain.elsewhere = DatumGetUUIDP(value)->data;
        plain.size = UUID_LEN;
        return;
    case TEXTOID:
    case VARCHAROID:
    case BYTEAOID: {
        struct varlena* text = PG_DETOAST_DATUM_PACKED(value);
        plain.elsewhere = reinterpret_cast<const unsigned char*>(VARDATA_ANY(text));
        plain.size = static_cast<int>(VARSIZE_ANY_EXHDR(text));
        return;
    }
    default: // an enum
        put_number(plain, DatumGetObjectId(value));
    }
}

std::uint64_t hash_plain(const PlainValue& plain, const unsigned char* key) {
    std::uint64_t hash = 0;
    static_assert(sizeof hash == crypto_shorthash_BYTES);
    (void)crypto_shorthash(reinterpret_cast<unsigned char*>(&hash), plain.bytes(),
                           static_cast<unsigned long long>(plain.size), key);
    return hash;
}

const char* sql_of_text(const char* value, Oid type) {
    if (getBaseType(type) < FirstNormalObjectId)
        return psprintf("(%s)::pg_catalog.text", value);
    return psprintf("CASE WHEN %s IS NOT NULL THEN pg_catalog.format('%%s', %s) END", value, value);
}

int compare_plain(const PlainValue& a, const PlainValue& b) {
    if (a.size != b.size)
        return a.size < b.size ? -1 : 1;
    return std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.size));
}

} // namespace dp_counter::pg
