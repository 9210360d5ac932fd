// dp_source_groups: which groups of a public dictionary a source has.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include <sodium.h>

#include "core/count/shown_groups.hpp"

#include "pg/persons/columns.hpp"
#include "pg/persons/groups.hpp"
#include "pg/reports/report.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"
#include "pg/sources/groups_from.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/worker/progress.hpp"
#include "pg/worker/serve.hpp"

namespace dp_counter::pg {
namespace {

struct Arguments {
    Argument source, name, epsilon, by, most, event, since, until, groups_from, groups_column;
};

bool is_integer(Oid type) {
    return plain_type(type) == INT8OID;
}

/// All groups that may be shown, in the order of their plain bytes. Trivial.
struct Dictionary {
    Oid type;
    uint128 size;
    Groups listed; ///< numbered in that order; none for all values of an integer type
};

Dictionary read_dictionary(const Report& report) {
    const Oid type = column_type(report.request->source, report.request->by);
    if (report.list == nullptr)
        return {type, uint128{1} << (8 * get_typlen(type)), {}};
    Groups groups = read_groups(report.list, type);
    sort_groups(groups);
    return {type, static_cast<uint128>(groups.count), groups};
}

/// The size of the dictionary for a value that is not in it.
uint128 place_of(const Dictionary& dictionary, Datum value) {
    if (dictionary.listed.count == 0)
        return static_cast<std::uint64_t>(measured_value(dictionary.type, value)) &
               (dictionary.size - 1);
    const std::int32_t number = find_group(dictionary.listed, value);
    return number == 0 ? dictionary.size : static_cast<uint128>(number - 1);
}

Datum value_at(const Dictionary& dictionary, uint128 place) {
    const auto datum = static_cast<Datum>(place); // an integer of less bits is in the low ones
    return dictionary.listed.count == 0 ? datum : dictionary.listed.declared[datum];
}

/// The state while the rows come. Trivial.
struct Collector {
    const Dictionary* dictionary;
    std::int32_t most;
    MemoryContext context; ///< for as long as the rows come
    UnitGroups unit;       ///< whose events come
    std::int64_t* listed;  ///< secret: the weight of each listed group; null without a list
    GroupWeight* weights;  ///< secret; without a list of one group several times
    std::size_t count, capacity;
    unsigned char key[crypto_generichash_KEYBYTES]; ///< of the report
    unsigned char persons_key[crypto_shorthash_KEYBYTES];
};

void reserve(Collector& collector, std::size_t capacity) {
    auto* weights = static_cast<GroupWeight*>(
        allocate_secret(collector.context, capacity * sizeof(GroupWeight)));
    std::copy_n(collector.weights, collector.count, weights);
    collector.weights = weights;
    collector.capacity = capacity;
}

void add_weight(Collector& collector, const GroupWeight& added) {
    if (collector.listed != nullptr) {
        collector.listed[added.group] += static_cast<std::int64_t>(added.weight);
        return;
    }
    if (collector.count == collector.capacity) {
        collector.count = add_up({collector.weights, collector.count});
        if (collector.count > collector.capacity / 2)
            reserve(collector, 2 * collector.capacity);
    }
    collector.weights[collector.count++] = added;
}

/// All weights, once all rows have come: in the order of the dictionary, one of each group.
std::span<GroupWeight> finish(Collector& collector) {
    if (collector.listed == nullptr)
        return {collector.weights, add_up({collector.weights, collector.count})};
    std::int64_t* end = collector.listed + collector.dictionary->size;
    reserve(collector, static_cast<std::size_t>(end - collector.listed -
                                                std::count(collector.listed, end, 0)));
    for (const std::int64_t* weight = collector.listed; weight != end; ++weight)
        if (*weight != 0)
            collector.weights[collector.count++] = {static_cast<uint128>(weight - collector.listed),
                                                    *weight};
    return {collector.weights, collector.count};
}

/// The rank of a group is a digest by the person and a key of the report: it depends on no other
/// unit's rows.
void add_event(const PlainValue& person, const SourceEvent& event, bool is_first, void* context) {
    auto& collector = *static_cast<Collector*>(context);
    if (is_first) {
        collector.unit.begin(collector.most);
        (void)crypto_generichash(collector.persons_key, sizeof collector.persons_key,
                                 person.bytes(), static_cast<unsigned long long>(person.size),
                                 collector.key, sizeof collector.key);
    }
    const uint128 place = place_of(*collector.dictionary, event.group);
    if (place == collector.dictionary->size)
        return;
    std::uint64_t rank = 0;
    unsigned char bytes[sizeof place];
    std::memcpy(bytes, &place, sizeof place);
    static_assert(sizeof rank == crypto_shorthash_BYTES);
    (void)crypto_shorthash(reinterpret_cast<unsigned char*>(&rank), bytes, sizeof bytes,
                           collector.persons_key);
    collector.unit.add(place, rank);
}

void end_unit(void* context) {
    auto& collector = *static_cast<Collector*>(context);
    collector.unit.share([&](const GroupWeight& added) { add_weight(collector, added); });
}

bool release_groups(const Report& report) {
    const PrivacyUnit privacy{report.privacy.epsilon, kUnitWeight};
    const Dictionary dictionary = read_dictionary(report);
    const SparseNoise sampler = run([&] {
        return SparseNoise(SparseLaw{privacy.scale(1), dictionary.size});
    });
    Collector collector{};
    collector.dictionary = &dictionary;
    collector.most = report.request->most;
    collector.context = CurrentMemoryContext;
    make_secret_key(collector.key, sizeof collector.key);
    if (dictionary.listed.count == 0)
        reserve(collector, 1 << 16);
    else
        collector.listed = static_cast<std::int64_t*>(allocate_secret(
            collector.context, static_cast<Size>(dictionary.size) * sizeof(std::int64_t)));
    const Oid types[] = {dictionary.type, FLOAT8OID};
    const Oid table =
        create_report_table(report,
                            psprintf("value %s NOT NULL, weight pg_catalog.float8 NOT NULL",
                                     format_type_be_qualified(dictionary.type)),
                            types, lengthof(types));
    read_events_of_units(report, InvalidAttrNumber, {add_event, end_unit, &collector});

    show_phase("drawing noise");
    const std::span<GroupWeight> weights = finish(collector);
    const Release release = begin_release(privacy);
    const std::uint64_t candidates = run([&] { return release.draw_reaching(sampler); });
    auto* shown = static_cast<GroupWeight*>(
        allocate_secret(collector.context, (weights.size() + static_cast<std::size_t>(candidates)) *
                                               sizeof(GroupWeight)));
    const std::size_t count = run([&] {
        return show_groups(weights, dictionary.size, candidates, SparseRelease{&sampler, release},
                           shown);
    });
    // In the order of the dictionary: another one would show which of them have data.
    for (std::size_t i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        Datum values[] = {value_at(dictionary, shown[i].group),
                          Float8GetDatum(static_cast<double>(shown[i].weight) / kUnitWeight)};
        bool nulls[] = {false, false};
        insert_report_row(table, values, nulls);
    }
    return false;
}

} // namespace

DP_FUNCTION(dp_source_groups) {
    const auto arguments = arguments_of<Arguments>(fcinfo);
    check_not_null(arguments.most, "most");
    const std::int32_t most = DatumGetInt32(arguments.most.value);
    check_number("most", most, kMostGroupsOfUnit,
                 "It is the number of groups that share the weight of a person or window.");
    const ReportCall call(fcinfo, "dp_source_groups", "dp_groups_worker", arguments);
    ReportRequest request = begin_report(call);
    request.most = most;
    request.by = read_group_column(request.source, arguments.by);
    const WrittenGroups list =
        read_written_groups({0, true}, arguments.groups_from, arguments.groups_column);
    check_not_read(list, request.source);
    const Oid type = column_type(request.source, request.by);
    if (list.array.isnull && !is_integer(type))
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                        errmsg("by of type %s requires groups_from", format_type_be(type)),
                        errhint("Store all groups that there can be in a table. Without one they "
                                "are all values of smallint, integer or bigint.")));
    ask_for_report(call, request,
                   list.array.isnull ? nullptr : DatumGetArrayTypeP(list.array.value));
    PG_RETURN_VOID();
}

DP_WORKER(dp_groups_worker) {
    serve(main_argument, [](const char* request, Size /*size*/) {
        serve_report(request, "groups", release_groups);
    });
}

} // namespace dp_counter::pg
