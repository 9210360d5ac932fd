#include <algorithm>
#include <cstring>
#include <limits>

#include <sodium.h>

#include "pg/events/events_table.hpp"
#include "pg/events/pending_events.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/tables/counters_table.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

/// Events of one counter in one level of subtransactions.
struct Entry {
    Oid counter;
    std::int64_t number; ///< its own
    int level;
    std::int32_t events; ///< at most kMostEvents
};

constexpr std::int32_t kMostEvents = std::numeric_limits<std::int32_t>::max();

/// Clamped: one event more changes the result by one at most, here as in any sum of such sums.
std::int32_t bounded(std::int64_t events) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(events, kMostEvents));
}

/// The events of the current transaction, in secret memory of TopTransactionContext.
Entry* entries = nullptr;
int size = 0;
int capacity = 0;
bool is_stored = false; ///< the transaction is committing: what comes now is stored at once

void reserve_one() {
    if (size < capacity)
        return;
    const int larger = capacity == 0 ? 8 : 2 * capacity;
    auto* moved = static_cast<Entry*>(
        allocate_secret(TopTransactionContext, sizeof(Entry) * static_cast<std::size_t>(larger)));
    if (size > 0) {
        const std::size_t bytes = sizeof(Entry) * static_cast<std::size_t>(size);
        std::memcpy(moved, entries, bytes);
        sodium_memzero(entries, bytes);
    }
    entries = moved;
    capacity = larger;
}

constexpr std::int64_t kUnknown = -1;

/// The number may be kUnknown.
void add(Oid counter, std::int64_t number, int level, std::int32_t events) {
    for (int i = size - 1; i >= 0; --i) {
        if (entries[i].counter == counter && entries[i].level == level) {
            entries[i].events = bounded(std::int64_t{entries[i].events} + events);
            return;
        }
    }
    reserve_one();
    if (number == kUnknown)
        number = number_of_counter(counter);
    entries[size++] = {counter, number, level, events};
}

void store(const Entry& entry) {
    if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(entry.counter))) // not dropped meanwhile
        add_events(entry.number, entry.events);
}

void store_all() {
    is_stored = true;
    if (size == 0)
        return;
    PushActiveSnapshot(GetTransactionSnapshot());
    for (int i = 0; i < size; ++i)
        store(entries[i]);
    PopActiveSnapshot();
}

void forget_all() {
    entries = nullptr;
    size = 0;
    capacity = 0;
    is_stored = false;
}

extern "C" void at_transaction_end(XactEvent event, void* /*argument*/) {
    switch (event) {
    case XACT_EVENT_PRE_COMMIT:
    case XACT_EVENT_PRE_PREPARE:
        store_all();
        break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PREPARE:
        forget_all();
        break;
    default: // parallel workers record nothing
        break;
    }
}

extern "C" void at_subtransaction_end(SubXactEvent event, SubTransactionId /*mine*/,
                                      SubTransactionId /*parent*/, void* /*argument*/) {
    if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
        return;
    const int level = GetCurrentTransactionNestLevel();
    const int count = size;
    size = 0;
    for (int i = 0; i < count; ++i) { // entries move to the front: needs no more room
        const Entry entry = entries[i];
        if (entry.level < level)
            add(entry.counter, entry.number, entry.level, entry.events);
        else if (event == SUBXACT_EVENT_COMMIT_SUB)
            add(entry.counter, entry.number, level - 1, entry.events);
    }
    if (count > size)
        sodium_memzero(entries + size, sizeof(Entry) * static_cast<std::size_t>(count - size));
}

} // namespace

void initialize_pending_events() {
    RegisterXactCallback(at_transaction_end, nullptr);
    RegisterSubXactCallback(at_subtransaction_end, nullptr);
}

bool has_pending_events(Oid counter) {
    for (int i = 0; i < size; ++i)
        if (entries[i].counter == counter)
            return true;
    return false;
}

void add_pending_events(Oid counter, std::int64_t events) {
    if (is_stored) {               // another module's callback at commit
        CommandCounterIncrement(); // a version of this very command cannot be replaced
        add_events(number_of_counter(counter), bounded(events));
    } else {
        add(counter, kUnknown, GetCurrentTransactionNestLevel(), bounded(events));
    }
}

} // namespace dp_counter::pg
