# dp_counter: make, make install, make installcheck as in any extension; make test runs all suites.

EXTENSION  = dp_counter
MODULE_big = dp_counter
DATA       = $(wildcard sql/dp_counter--*.sql)
CORE_OBJS  = $(patsubst %.cpp,%.o,$(sort $(wildcard src/core/*.cpp)))
PG_OBJS    = $(patsubst %.cpp,%.o,$(sort $(wildcard src/pg/*.cpp)))
OBJS       = $(CORE_OBJS) $(PG_OBJS)

REGRESS         = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS    = --inputdir=test --load-extension=dp_counter
ISOLATION       = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS  = --inputdir=test --outputdir=. --load-extension=dp_counter
EXTRA_CLEAN     = build regression.diffs regression.out results output_iso

PG_CONFIG ?= pg_config

# The server's headers as system headers: our warnings are about our code alone.
PG_CXXFLAGS = -std=c++20 -fvisibility=hidden -Wall -Wextra -Wpedantic -Isrc \
              -isystem $(shell $(PG_CONFIG) --includedir-server)
SHLIB_LINK  = -lsodium -Wl,--version-script=src/pg/exports.map

# No bitcode: PGXS would compile every file a second time with clang, without PG_CXXFLAGS.
override with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

override COMPILER = $(CXX) $(CXXFLAGS)

# PGXS does not track headers.
HEADERS_CORE = $(wildcard src/core/*.hpp)
$(CORE_OBJS): $(HEADERS_CORE)
$(PG_OBJS): $(HEADERS_CORE) $(wildcard src/pg/*.hpp)
$(shlib): src/pg/exports.map

# --- tests ----------------------------------------------------------------------------------------

AUDIT_OBJS = $(patsubst test/audit/%.cpp,build/audit/%.o,\
               $(filter-out %_main.cpp,$(sort $(wildcard test/audit/*.cpp))))

build/audit/%.o: test/audit/%.cpp $(HEADERS_CORE) $(wildcard test/audit/*.hpp)
	@mkdir -p build/audit
	$(CXX) $(CXXFLAGS) -Itest -c -o $@ $<

build/audit/%: build/audit/%_main.o $(AUDIT_OBJS) $(CORE_OBJS)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lsodium

UNIT_SRCS = $(sort $(wildcard test/unit/*_test.cpp))
UNIT_OBJS = $(patsubst test/unit/%.cpp,build/unit/%.o,$(UNIT_SRCS))

build/unit/%.o: test/unit/%.cpp $(HEADERS_CORE) $(wildcard test/unit/*.hpp)
	@mkdir -p build/unit
	$(CXX) $(CXXFLAGS) -Itest -c -o $@ $<

build/unit/unit: $(UNIT_OBJS) $(AUDIT_OBJS) $(CORE_OBJS)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lgtest_main -lgtest -lgmpxx -lgmp -lmpfr -lsodium -lpthread

.PHONY: unit pgtap readme tap audit-small test
unit: build/unit/unit
	./build/unit/unit --gtest_brief=1

# The following need a server that PGHOST, PGPORT and PGUSER lead to, and the extension installed:
# `pg_virtualenv make test` (postgresql-common) provides a throw-away one.
pgtap:
	psql -X -q -c 'CREATE EXTENSION IF NOT EXISTS pgtap'
	pg_prove test/pgtap/*.sql

readme:
	prove test/readme/examples.pl

tap:
	PG_CONFIG='$(PG_CONFIG)' test/tap.sh

# The privacy audit through SQL, small; the unit tests hold one through the core.
audit-small: build/audit/judge
	prove --exec bash test/audit/sql :: -t small

test: unit
	$(MAKE) installcheck pgtap readme tap audit-small

# --- evidence: minutes to hours, docs/evidence.md ---------------------------------------------------

.PHONY: audit audit-power test-all-majors
# The privacy audit in full (test/audit): server and extension as above.
audit: build/audit/core build/audit/judge
	build/audit/core all
	test/audit/sql all

# Every mutant of test/audit/mutants has to be flagged.
audit-power: build/audit/core build/audit/judge
	test/audit/power

# Root, debootstrap and the network: roots with PostgreSQL 13 to 18, every suite in each.
test-all-majors:
	test/majors/run

# --- for developers: needs clang-format and clang-tidy ---------------------------------------------

LINT_SRCS = $(sort $(wildcard src/core/*.cpp src/pg/*.cpp))

.PHONY: lint
lint:
	clang-format --dry-run -Werror $(wildcard src/*/*.[ch]pp test/unit/*.[ch]pp)
	clang-tidy --quiet $(LINT_SRCS) -- $(PG_CXXFLAGS)
