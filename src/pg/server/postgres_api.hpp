// The one door to PostgreSQL's headers, and those that most files use. Include it after the
// standard library's and libsodium's headers, never in src/core.
//
// The wall between C++ and the backend, in three rules:
//   1. ereport() longjmps over C++ destructors, so no frame that it leaves may hold an object with
//      a destructor. An adapter has trivial locals only.
//   2. an exception that leaves C++ ends the server, so the core is called inside guarded()
//      (wall.hpp), and the error is raised after it has returned.
//   3. guarded() must not call a PostgreSQL function that can ereport.
#pragma once

// PostgreSQL 15 leaves this empty, and -fvisibility=hidden would hide the entry points.
#define PGDLLEXPORT __attribute__((visibility("default")))

extern "C" {
#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
}

#if PG_VERSION_NUM < 150000
#error "dp_counter needs PostgreSQL 15 or newer"
#endif

/// Declares and registers an SQL-callable function.
#define DP_FUNCTION(name)                                                                          \
    extern "C" {                                                                                   \
    PGDLLEXPORT PG_FUNCTION_INFO_V1(name);                                                         \
    PGDLLEXPORT Datum name(PG_FUNCTION_ARGS);                                                      \
    }                                                                                              \
    Datum name(PG_FUNCTION_ARGS)
