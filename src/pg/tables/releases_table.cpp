#include "pg/tables/releases_table.hpp"

#include "pg/server/relations.hpp"

namespace dp_counter::pg {

namespace {

enum Column {
    kNumber,
    kStep,
    kStream,
    kBin,
    kPeriod,
    kReleasedAt,
    kCount,
    kStddev,
    kLow,
    kHigh,
    kBelow,
    kShareLow,
    kShareHigh
};
enum PublicationColumn { kPublishedCounter, kSteps };

constexpr const char* kMissing = "the counter's publication is missing";

} // namespace

NewSecretRows begin_releases() {
    return begin_secret_rows(kReleasesTable);
}

void insert_releases(const NewSecretRows& rows, std::int64_t number, TimestampTz released_at,
                     const GroupReleases& group) {
    const bool has_period = group.periods != nullptr;
    const bool is_average = group.averages != nullptr;
    for (std::int64_t i = 0; i < group.count; ++i) {
        CHECK_FOR_INTERRUPTS();
        const CounterRelease& release = group.releases[i].release;
        const ReleaseInterval interval =
            clamped_interval(release.count, group.releases[i].width, group.least);
        const ClosedAverage average = is_average ? group.averages[i] : ClosedAverage{};
        add_secret_row(
            rows, {{kNumber, Int64GetDatum(number)},
                   {kStep, Int64GetDatum(release.step)},
                   {kStream, Int32GetDatum(group.group)},
                   {kBin, Int32GetDatum(group.bin)},
                   {kPeriod, TimestampTzGetDatum(has_period ? group.periods[i] : 0), !has_period},
                   {kReleasedAt, TimestampTzGetDatum(released_at)},
                   {kCount, Int64GetDatum(release.count)},
                   {kStddev, Float8GetDatum(release.stddev)},
                   {kLow, Int64GetDatum(interval.low), is_average},
                   {kHigh, Int64GetDatum(interval.high), is_average},
                   {kBelow, Int64GetDatum(average.below), !is_average},
                   {kShareLow, Float8GetDatum(average.share.low), !is_average},
                   {kShareHigh, Float8GetDatum(average.share.high), !is_average}});
    }
}

void insert_publication(std::int64_t number) {
    insert_secret_row(kPublications,
                      {{kPublishedCounter, Int64GetDatum(number)}, {kSteps, Int64GetDatum(0)}});
}

std::int64_t published_steps(std::int64_t number) {
    std::int64_t steps = 0;
    if (!visit_secret_rows(
            kPublications, {number_key(number)},
            [&](const Datum* values, const bool*) { steps = DatumGetInt64(values[kSteps]); }))
        raise_damaged(kMissing);
    return steps;
}

void check_published(Oid counter, std::int64_t number, std::int64_t steps) {
    if (published_steps(number) < steps)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("step %lld of counter \"%s\" is closed, but not published",
                               static_cast<long long>(steps), name_of_relation(counter)),
                        errhint("Call dp_tick first, which publishes it.")));
}

void publish_steps(std::int64_t number, std::int64_t steps) {
    if (!replace_in_secret_row(kPublications, {number_key(number)},
                               {{kSteps, Int64GetDatum(steps)}}))
        raise_damaged(kMissing);
}

} // namespace dp_counter::pg
