// dp_counter_create, dp_event_counter_create: a new counter and the view of its releases.
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/count/epochs.hpp"

#include "pg/counters/comments.hpp"
#include "pg/counters/drop.hpp"
#include "pg/counters/view_columns.hpp"
#include "pg/events/events_table.hpp"
#include "pg/events/public_facts.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/wall.hpp"
#include "pg/sources/analyst.hpp"
#include "pg/sources/plan_rows.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/steps/anchored.hpp"
#include "pg/steps/boxes.hpp"
#include "pg/steps/cells.hpp"
#include "pg/steps/stored_state.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/public_view.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/streams_table.hpp"

namespace dp_counter::pg {
namespace {

NewView create_view(text* name, const SourceDeclaration* source, const char* extension) {
    ViewColumn columns[kMostViewColumns];
    const int count = view_columns(source, extension, columns);
    for (int i = 0; source != nullptr && source->column_count == 2 && i < count; ++i)
        if (i != 1 && std::strcmp(columns[i].name, columns[1].name) == 0)
            ereport(ERROR, (errcode(ERRCODE_DUPLICATE_COLUMN),
                            errmsg("by must not be \"%s\"", columns[1].name),
                            errdetail("Another column of the counter has this name."),
                            errhint("Rename the column of the source.")));
    return create_view_of(name, "published", columns, count,
                          source != nullptr ? source->owner : InvalidOid);
}

struct Parameters {
    Argument name, epsilon, horizon, k, mechanism;
    const Interval* every = nullptr; ///< of a counter without a source
};

Parameters parameters_of(const SourceArguments& arguments) {
    return {arguments.name, arguments.epsilon, arguments.horizon, arguments.k, arguments.mechanism};
}

/// The noise of single periods has no parameters.
void check_independent(const Parameters& parameters, bool is_active) {
    const char* name = parameters.k.isnull ? "mechanism" : "k";
    if (parameters.k.isnull && parameters.mechanism.isnull)
        return;
    if (is_active)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("active and %s exclude each other", name),
                        errhint("Its noise is chosen: that of least error.")));
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("%s requires cumulative => true", name),
             errhint("A counter that is not cumulative adds noise to the count of each period "
                     "by itself.")));
}

/// Raises an error for parameters that are wrong, or exceed what an analyst may declare.
Request check_parameters(const Parameters& parameters, const SourceDeclaration* source,
                         Numeric epsilon) {
    if (source != nullptr && !source->cumulative)
        check_independent(parameters, source->row.active != 0);
    const std::int64_t sensitivity = source != nullptr ? source->sensitivity : 1;
    const Request request =
        read_request({.epsilon = {Float8GetDatum(mechanism_epsilon(epsilon)), false},
                      .sensitivity = {Int64GetDatum(sensitivity), false},
                      .horizon = parameters.horizon,
                      .k = parameters.k,
                      .mechanism = parameters.mechanism});
    if (source != nullptr)
        check_limits(*source, epsilon, request.horizon);
    return request;
}

/// The stream of a new counter. Trivial, but for the spec.
struct NewStream {
    std::optional<StoredState> state; ///< of a running total
    struct varlena* bytes = nullptr;  ///< independent noise has no state, nor that of bins
};

/// Raises an error for a stream without a horizon that could not go on within 10^12 steps, 300
/// years of a hundred steps a second.
void check_later_epochs(const Request& request) {
    const int last = epoch_of(1'000'000'000'000);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter epochs", ALLOCSET_DEFAULT_SIZES);
    for (int epoch = 1; epoch <= last; ++epoch)
        check_state_bytes(state_bytes(context, request, epoch));
    MemoryContextDelete(context);
}

/// Raises invalid_parameter_value for noise that there is not.
NewStream new_stream(const Request& request, const SourceDeclaration* source) {
    NewStream stream;
    if (source == nullptr || source->cumulative) {
        stream.bytes = stream.state.emplace(new_state(CurrentMemoryContext, request)).bytes;
        if (request.horizon == kUnbounded)
            check_later_epochs(request);
    } else if (source->block == 0) {
        check_cells(request.unit);
    } else if (source->row.active != 0) {
        stream.bytes = new_anchored_state(
            CurrentMemoryContext, run([&] { return AnchoredLaw(request.unit, source->block); }));
    } else {
        stream.bytes = new_box_state(CurrentMemoryContext,
                                     run([&] { return BoxLaw(request.unit, source->block); }));
    }
    return stream;
}

/// Makes a counter and its view; with a source where one is declared.
Oid create(const Parameters& parameters, const SourceDeclaration* source, Oid function) {
    const char* extension = quoted_schema_of_function(function);
    Numeric epsilon = read_decimal_epsilon(parameters.epsilon);
    const Request request = check_parameters(parameters, source, epsilon);
    const NewStream stream = new_stream(request, source);
    const auto [counter, number] =
        create_view(DatumGetTextPP(parameters.name.value), source, extension);
    insert_counter(counter, number, epsilon, request,
                   stream.state.has_value() ? &stream.state->spec : nullptr,
                   source != nullptr ? source->noise() : NoiseOfPeriods{}, parameters.every);
    if (stream.bytes != nullptr)
        insert_streams(number, 1, source != nullptr ? source->streams : 1, stream.bytes);
    insert_publication(number);
    if (source != nullptr)
        declare_source_counter(counter, number, epsilon, *source);
    else
        create_event_slots(number);
    comment_on_counter(counter, epsilon, source);
    return counter;
}

void check_name(const Argument& name) {
    check_not_null(name, "name", "Give the name of the view to create.");
}

} // namespace

DP_FUNCTION(dp_counter_create) {
    const auto arguments = arguments_of<SourceArguments>(fcinfo);
    check_name(arguments.name);
    PreventCommandIfReadOnly("dp_counter_create()");
    const SourceDeclaration source = read_declaration(arguments, false);
    if (OidIsValid(source.replaced)) {
        ereport(NOTICE, (errmsg("counter \"%s\" has released nothing: it is dropped",
                                name_of_relation(source.replaced)),
                         errdetail("Its privileges and its comment go with it.")));
        drop_counter(source.replaced);
    }
    const Oid counter = create(parameters_of(arguments), &source, fcinfo->flinfo->fn_oid);
    check_still_may_declare(arguments, source, counter);
    PG_RETURN_OID(counter);
}

/// dp_counter_plan of a declaration, which has dp_counter_create's arguments.
DP_FUNCTION(dp_counter_plan_declaration) {
    const auto arguments = arguments_of<SourceArguments>(fcinfo);
    const SourceDeclaration source = read_declaration(arguments, true);
    Numeric epsilon = read_decimal_epsilon(arguments.epsilon);
    const auto request = check_parameters(parameters_of(arguments), &source, epsilon);
    (void)new_stream(request, &source); // refuses what dp_counter_create would
    put_plan_of_declaration(fcinfo, source, epsilon, arguments.horizon, arguments.k,
                            arguments.mechanism);
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_event_counter_create) {
    struct Arguments {
        Argument name, epsilon, horizon, every, k, mechanism;
    };
    const auto [name, epsilon, horizon, every, k, mechanism] = arguments_of<Arguments>(fcinfo);
    check_name(name);
    PreventCommandIfReadOnly("dp_event_counter_create()");
    PG_RETURN_OID(create({name, epsilon, horizon, k, mechanism, read_every(every)}, nullptr,
                         fcinfo->flinfo->fn_oid));
}

} // namespace dp_counter::pg
