# dp_counter: make, make install, make installcheck as in any extension; make test runs all suites.

EXTENSION  = dp_counter
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" dp_counter.control)
MODULE_big = dp_counter
# The install script is put together by subject; updates have a version in their names. (pg_regress would take sql/x.sql for test x.)
SQL_PARTS  = $(patsubst %,sql/install/%.sql,queries tables counters lists budgets planner privileges)
DATA       = $(filter-out $(DATA_built),$(wildcard sql/dp_counter--*.sql))
DATA_built = sql/dp_counter--$(EXTVERSION).sql
CORE_OBJS  = $(patsubst %.cpp,%.o,$(sort $(wildcard src/core/*/*.cpp)))
PG_OBJS    = $(patsubst %.cpp,%.o,$(sort $(wildcard src/pg/*.cpp src/pg/*/*.cpp)))
OBJS       = $(CORE_OBJS) $(PG_OBJS)

REGRESS         = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS    = --inputdir=test --load-extension=dp_counter
ISOLATION       = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS  = --launcher=test/specs/launch --inputdir=test --outputdir=. --load-extension=dp_counter
EXTRA_CLEAN     = build $(OBJS:.o=.d) regression.diffs regression.out results output_iso

PG_CONFIG ?= pg_config

# The server's headers as system headers: our warnings are about our code alone. PACKAGE_CXXFLAGS is for who packages (debian/rules).
PG_CXXFLAGS = -std=c++20 -MMD -MP -fvisibility=hidden -Wall -Wextra -Wpedantic -Isrc \
              -isystem $(shell $(PG_CONFIG) --includedir-server) $(PACKAGE_CXXFLAGS) $(SANITIZE)
SHLIB_LINK  = -lsodium -Wl,--version-script=src/pg/exports.map

# No bitcode: PGXS would compile every file a second time with clang, without PG_CXXFLAGS.
override with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

override COMPILER = $(CXX) $(CXXFLAGS)

$(shlib): src/pg/exports.map

# What each object was compiled from, as the compiler has found it (-MMD).
-include $(OBJS:.o=.d) $(wildcard build/*/*.d build/sanitized/*/*/*.d build/sanitized/*/*/*/*.d)

$(DATA_built): $(SQL_PARTS) dp_counter.control
	@cat $(SQL_PARTS) >$@

include test/evidence.mk # the privacy audit, sanitizers, fuzzing, faults, all majors

# --- tests ----------------------------------------------------------------------------------------

UNIT_SRCS = $(sort $(wildcard test/unit/*_test.cpp))
UNIT_OBJS = $(patsubst test/unit/%.cpp,build/unit/%.o,$(UNIT_SRCS))

# Optimizing what runs once takes longer than it saves: less than half the time with these, and the precompiled headers.
UNIT_CXXFLAGS = $(CXXFLAGS) -O1 -g0 -Itest

build/unit/headers.hpp.gch: test/unit/headers.hpp
	@mkdir -p build/unit
	$(CXX) $(UNIT_CXXFLAGS) -x c++-header -c -o $@ $<

build/unit/%.o: test/unit/%.cpp build/unit/headers.hpp.gch
	$(CXX) $(UNIT_CXXFLAGS) -include build/unit/headers.hpp -c -o $@ $<

build/unit/unit: $(UNIT_OBJS) $(AUDIT_OBJS) $(FUZZ_OBJS) $(CORE_OBJS)
	$(CXX) $(CXXFLAGS) -o $@ $^ $(LDFLAGS) $(UNIT_LIBS)

# Every suite, in the order of `make test`. Those that share the server that libpq finds run in turn, the longest first, for
# which ./quickstart test has a server apart; it runs the others, which need none or start their own, at the same time.
SHARED = installcheck pgtap audit-small faults-small
SUITES = unit structure $(SHARED) readme upgrade tap

# What epsilon every mechanism spends: the quickest check of a change in the noise, without all that it does not need.
build/unit/certificate: build/unit/certificate_test.o build/audit/certificate.o build/audit/cases.o \
                        $(filter-out src/core/accuracy/% src/core/literature/%,$(CORE_OBJS))
	$(CXX) $(CXXFLAGS) -o $@ $^ $(LDFLAGS) $(UNIT_LIBS)

.PHONY: certificate unit structure pgtap readme tap test test-programs list-suites list-shared
certificate: build/unit/certificate
	./build/unit/certificate --gtest_brief=1
unit: build/unit/unit
	./build/unit/unit --gtest_brief=1

# What holds of the tree itself: no build, no server.
structure:
	prove test/structure/*.pl

# The documentation's examples, in a server of their own.
readme: all
	test/with_server prove test/readme/examples.pl

# The following need a server that PGHOST, PGPORT and PGUSER lead to, and the extension installed:
# `pg_virtualenv make test` (postgresql-common) provides a throw-away one.
pgtap:
	psql -X -q -c 'CREATE EXTENSION IF NOT EXISTS pgtap'
	pg_prove test/pgtap/*.sql

tap:
	PG_CONFIG='$(PG_CONFIG)' test/tap.sh

test:
	for suite in $(SUITES); do $(MAKE) $$suite || exit 1; done

test-programs: build/unit/unit build/audit/judge

list-suites:
	@echo $(SUITES)
list-shared:
	@echo $(SHARED)

# --- benchmarks: need Google Benchmark (libbenchmark-dev) and, for the chart, gnuplot -----------------
# A server of their own; nothing has to be installed or running. `make bench` takes 30 minutes, and
# `make bench-docs` puts its figures into docs/performance.md.

FLIGHTS   ?= $(firstword $(wildcard ../shared/data/flights-3m.csv.xz))

build/bench/core: bench/core.cpp $(CORE_OBJS)
	@mkdir -p build/bench
	$(CXX) $(CXXFLAGS) -I. -o $@ $< $(CORE_OBJS) -lbenchmark -lsodium -lpthread

.PHONY: bench bench-quick bench-docs
bench bench-quick: all build/bench/core
	PG_CONFIG='$(PG_CONFIG)' FLIGHTS='$(FLIGHTS)' bench/run $(if $(filter bench,$@),full,quick)

bench-docs: bench
	bench/report build/bench/full --docs

# --- for developers: needs clang-format and clang-tidy ---------------------------------------------

CXX_FILES = $(sort $(shell find src test bench tools -name '*.[ch]pp'))
LINT_SRCS = $(filter src/%.cpp,$(CXX_FILES))

.PHONY: format lint
format:
	clang-format -i $(CXX_FILES)
lint:
	clang-format --dry-run -Werror $(CXX_FILES)
	clang-tidy --quiet $(LINT_SRCS) -- $(PG_CXXFLAGS)

# --- releases: an archive for PGXN ------------------------------------------------------------------

DIST_DIR = build/dist
DIST     = $(EXTENSION)-$(EXTVERSION)

.PHONY: dist distcheck packages arm64
# What is committed, to the byte the same wherever it is made.
dist:
	@mkdir -p $(DIST_DIR)
	TZ=UTC git archive --format=zip --prefix=$(DIST)/ -o $(DIST_DIR)/$(DIST).zip HEAD

# The archive builds and installs by itself, without the repository it came from.
distcheck: dist
	rm -rf $(DIST_DIR)/$(DIST) $(DIST_DIR)/root
	cd $(DIST_DIR) && unzip -q $(DIST).zip
	cd $(DIST_DIR)/$(DIST) && GIT_CEILING_DIRECTORIES='$(abspath $(DIST_DIR))' $(MAKE) all
	$(MAKE) -C $(DIST_DIR)/$(DIST) install DESTDIR='$(abspath $(DIST_DIR))/root'
	test -f $(DIST_DIR)/root$(pkglibdir)/$(MODULE_big).so
	test -f $(DIST_DIR)/root$(datadir)/extension/$(DIST:$(EXTENSION)-%=$(EXTENSION)--%).sql
	test -f $(DIST_DIR)/root$(datadir)/extension/$(EXTENSION).control

# Debian packages and the archive, in clean roots: root, debootstrap and the network.
packages:
	test/packages/run

# The core's tests and the extension on arm64, emulated; the same needs.
arm64:
	test/arm64/run

# --- figures of docs/: needs gnuplot and a server with the extension, `pg_virtualenv make figures` ---

.PHONY: figures
figures:
	tools/figures/draw
