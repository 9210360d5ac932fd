#include <cstring>

#include <sodium.h>

#include "pg/budgets/unit.hpp"

#include "core/count/own_window.hpp"

#include "pg/budgets/budget_rows.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "utils/date.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kOne, kKey };

constexpr const char* kMissingKey = "the key of the windows is missing";

/// Null if there is none.
const unsigned char* read_window_key() {
    unsigned char* key = nullptr;
    visit_secret_rows(kWindowKey, {}, [&](const Datum* values, const bool*) {
        const bytea* stored = DatumGetByteaPP(values[kKey]);
        if (VARSIZE_ANY_EXHDR(stored) != kWindowKeyBytes)
            raise_damaged("the key of the windows is damaged");
        key = static_cast<unsigned char*>(palloc(kWindowKeyBytes));
        std::memcpy(key, VARDATA_ANY(stored), kWindowKeyBytes);
    });
    return key;
}

/// By which a budget knows its key again.
std::int64_t digest_of(const unsigned char* key) {
    unsigned char digest[crypto_generichash_BYTES];
    (void)crypto_generichash(digest, sizeof(digest), key, kWindowKeyBytes, nullptr, 0);
    return static_cast<std::int64_t>(number_of_digest(digest));
}

void check_type(const BudgetRow& budget, const char* column, Oid type, Oid expected) {
    if (type != expected)
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("%s must be of type %s, not %s, in all sources of budget \"%s\"", column,
                        format_type_be(expected), format_type_be(type), name_of_budget(budget)),
                 errhint("A person's windows follow from the value and its type. Cast the column "
                         "in the view.")));
}

BudgetUnit unit_of(const BudgetRow& row) {
    if (row.per_days == 0)
        return {};
    const unsigned char* key = read_window_key();
    if (key == nullptr)
        raise_damaged(kMissingKey);
    if (digest_of(key) != row.key_digest)
        raise_damaged("the key of the windows is not that of the budget");
    return {row.per_days, key, row.person_type, row.time_type};
}

} // namespace

BudgetUnit unit_of_budget(Oid budget) {
    return unit_of(require_budget(budget));
}

BudgetUnit unit_of_source(const SourceRow& source) {
    BudgetRow row{};
    if (!read_budget_numbered(source.budget_number, row))
        raise_damaged("the budget of the source is missing");
    return unit_of(row);
}

std::int32_t person_phase(const BudgetUnit& unit, const void* person, std::size_t bytes) {
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    (void)crypto_hash_sha256_update(&state, unit.key, kWindowKeyBytes);
    (void)crypto_hash_sha256_update(&state, static_cast<const unsigned char*>(person), bytes);
    (void)crypto_hash_sha256_final(&state, digest);
    return phase_of(digest, unit.per_days);
}

std::int64_t day_of_time(Oid time_type, Datum time) {
    return time_type == DATEOID ? std::int64_t{DatumGetDateADT(time)}
                                : day_of(DatumGetTimestamp(time));
}

std::int64_t make_window_key() {
    const unsigned char* made = read_window_key();
    if (made != nullptr)
        return digest_of(made);
    // If two transactions create first budgets, the second one waits, and looks again.
    LockDatabaseObject(secret_relation(kWindowKey.table), InvalidOid, 0, ExclusiveLock);
    if ((made = read_window_key()) != nullptr)
        return digest_of(made);
    if (any_budget_renews()) // another key would move the windows under it
        raise_damaged(kMissingKey);
    auto* key = static_cast<bytea*>(palloc(VARHDRSZ + kWindowKeyBytes));
    SET_VARSIZE(key, VARHDRSZ + kWindowKeyBytes);
    make_secret_key(VARDATA(key), kWindowKeyBytes);
    insert_secret_row(kWindowKey, {{kOne, BoolGetDatum(true)}, {kKey, PointerGetDatum(key)}});
    return digest_of(reinterpret_cast<const unsigned char*>(VARDATA(key)));
}

void take_source_types(Oid budget, Oid person_type, Oid time_type) {
    BudgetRow row = root_of(require_budget(budget));
    if (row.per_days == 0)
        return;
    if (!OidIsValid(row.time_type)) {
        lock_budget(row.number); // another transaction may be declaring the first source
        (void)read_budget_numbered(row.number, row);
    }
    if (!OidIsValid(row.time_type)) {
        row.person_type = person_type;
        row.time_type = time_type;
        update_budget_types(row);
    }
    check_type(row, "person", person_type, row.person_type);
    check_type(row, "at", time_type, row.time_type);
}

} // namespace dp_counter::pg
