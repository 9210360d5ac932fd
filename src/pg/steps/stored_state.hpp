// From stored bytes to the next stored bytes: what a tick asks of the core.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/count/counter_state.hpp"
#include "core/count/prepared_mechanism.hpp"
#include "core/count/state_codec.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/releases_table.hpp"

namespace dp_counter::pg {

/// A state as a bytea, in secret memory, with the mechanism of its epoch and what was asked for.
struct StoredState {
    struct varlena* bytes;
    MechanismSpec spec;
    Request request;
};

/// A stream at step 0. Raises invalid_parameter_value.
[[nodiscard]] StoredState new_state(MemoryContext context, const Request& request);

/// How long the stored state is in an epoch, in bytes. Raises invalid_parameter_value where that
/// epoch can have no mechanism.
[[nodiscard]] std::size_t state_bytes(MemoryContext context, const Request& request, int epoch);

/// A stream at step `steps`, with the parameters of the stored `other`, that has counted nothing:
/// nobody has seen, or ever sees, its releases so far. Raises data_corrupted.
[[nodiscard]] StoredState later_state(MemoryContext context, const struct varlena* other,
                                      std::int64_t steps);

/// The mechanism, prepared, unless the stream before had the same: public values alone. The
/// reference is good until the next call. Throws as PreparedMechanism does.
[[nodiscard]] const PreparedMechanism& prepare(const MechanismSpec& spec);

/// A bytea in secret memory, of so many bytes that are to be written; and those of a stored one.
[[nodiscard]] struct varlena* allocate_stored(MemoryContext context, std::size_t bytes);
[[nodiscard]] StateCodec::Bytes bytes_of(const struct varlena* stored);

/// Throws Error (corrupt) where a state is not that at step `steps`.
void check_step(std::int64_t stored, std::int64_t steps);

/// Closes `count` steps of a stream, one after the other; totals[i] is the true total of the
/// stream's life at the end of the i-th. `releases` gets a release for each; what it holds of
/// another stream of the same counter spares the computation of error bars. Where it is null
/// nothing is released, and totals may be null. Raises data_corrupted where the bytes are no state,
/// or not the state at step `steps`; data_exception at the horizon.
[[nodiscard]] StoredState close_steps(MemoryContext context, const struct varlena* stored,
                                      std::int64_t steps, const int128* totals, std::int64_t count,
                                      ClosedRelease* releases);

/// The 95 % interval of the share that `above` has of both, releases of two streams at one step.
[[nodiscard]] ShareInterval share_of_totals(const Request& request, const CounterRelease& above,
                                            const CounterRelease& below);

} // namespace dp_counter::pg
