# Evidence: checks that take minutes to hours, apart from audit-small. docs/evidence.md has the figures.

# --- the privacy audit (test/audit) ---------------------------------------------------------------

AUDIT_OBJS = $(patsubst test/audit/%.cpp,build/audit/%.o,\
               $(filter-out %_main.cpp,$(sort $(wildcard test/audit/*.cpp))))

build/audit/%.o: test/audit/%.cpp
	@mkdir -p build/audit
	$(CXX) $(CXXFLAGS) -Itest -c -o $@ $<

build/audit/%: build/audit/%_main.o $(AUDIT_OBJS) $(CORE_OBJS)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lsodium

.PHONY: audit-small audit audit-power
# Through SQL, in seconds, part of `make test`, with one mutant that it must flag; the unit tests hold one through the core.
audit-small: all build/audit/judge
	prove --exec bash test/audit/sql :: -t small
	prove --exec bash test/audit/power :: -n
	test/audit/power null-stops-time

# In full. Like audit-small it needs the extension installed and a server.
audit: build/audit/core build/audit/judge
	build/audit/core certificate all
	build/audit/core all
	test/audit/sql all

# Every mutant of test/audit/mutants has to be flagged.
audit-power: all build/audit/core build/audit/judge
	test/with_server test/audit/power

# --- sanitizers -----------------------------------------------------------------------------------

SANITIZED = build/sanitized
SANITIZED_OBJS = $(patsubst %.cpp,$(SANITIZED)/%.o,$(sort $(wildcard src/core/*/*.cpp test/unit/*_test.cpp) \
                   $(filter-out %_main.cpp %/entry.cpp,$(wildcard test/audit/*.cpp test/fuzz/*.cpp))))
UNIT_LIBS = -lgtest_main -lgtest -lgmpxx -lgmp -lmpfr -lsodium -lpthread

$(SANITIZED)/%.o: %.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
	  -fno-sanitize-recover=all -Itest -c -o $@ $<

$(SANITIZED)/unit: $(SANITIZED_OBJS)
	$(CXX) $(CXXFLAGS) -fsanitize=address,undefined -o $@ $^ $(UNIT_LIBS)

.PHONY: asan-unit ubsan-server valgrind-unit
# The unit tests under AddressSanitizer and UndefinedBehaviorSanitizer.
asan-unit: $(SANITIZED)/unit
	ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 $< --gtest_brief=1

# The extension under UndefinedBehaviorSanitizer in a server of its own, which then runs the regression
# suites. A finding stops the server and stands in its log.
ubsan-server:
	@mkdir -p build/ubsan
	cp -a Makefile dp_counter.control sql src test expected build/ubsan
	find build/ubsan/src -name '*.o' -delete
	$(MAKE) -C build/ubsan SANITIZE='-fsanitize=undefined -fno-sanitize-recover=all' dp_counter.so
	test/with_server -m build/ubsan/dp_counter.so $(MAKE) installcheck pgtap

# The core's tests under valgrind: those that take samples by the million would take hours, those of
# memory that runs out need an operator new of their own, which valgrind replaces, and those of what is left behind
# read where nothing may be read.
VALGRIND_FILTER = -*Distribution*:*Variance*:*ChiSquare*:*Vary*:*DrawnNoise*:Audit.No*:OutOfMemory.*:*OnTheStack:NoiseStream.Forgets*
valgrind-unit: build/unit/unit
	valgrind -q --error-exitcode=1 --leak-check=full --show-leak-kinds=definite,indirect,possible \
	  $< --gtest_brief=1 --gtest_filter='$(VALGRIND_FILTER)'

# --- assertions -------------------------------------------------------------------------------------

CASSERT_STATEMENTS ?= 20000

.PHONY: cassert-server postgres-regress
# Every SQL suite and the SQL fuzzer against PostgreSQL with assertions and freed memory overwritten: root or sudo for
# what it takes to build it, half an hour the first time.
cassert-server:
	test/cassert_server bash -ec '$(MAKE) PG_CONFIG="$$SERVER_BIN/pg_config" installcheck pgtap tap; \
	  prove test/readme/examples.pl; \
	  test/fuzz/sql $(CASSERT_STATEMENTS) $(FUZZ_SEED)'

# PostgreSQL's own regression tests with the extension in the database, on the same server, which has to be able to
# read this tree. Two tests list what is in a catalog and so differ: the extension's event trigger, an aggregate with more
# arguments than opr_sanity can check.
LISTS_DIFFER = event_trigger opr_sanity
postgres-regress:
	test/cassert_server bash -c 'cd build/cassert/*/source/src/test/regress && $(MAKE) -s && mkdir -p results testtablespace && \
	  chmod 777 results testtablespace && \
	  $(MAKE) installcheck-parallel EXTRA_REGRESS_OPTS="--load-extension=dp_counter --max-connections=4"; \
	  failed=$$(sed -nE "s/^(test)? +([a-z_0-9]+) +\.\.\. FAILED.*/\2/p" regression.out | sort | xargs); \
	  echo "differ: $$failed"; [ "$$failed" = "$(LISTS_DIFFER)" ]'

# --- every supported PostgreSQL ---------------------------------------------------------------------

.PHONY: test-all-majors
# Root, debootstrap and the network: roots with PostgreSQL 15 to 19, every suite in each.
test-all-majors:
	test/majors/run

# --- fuzzing (test/fuzz): needs clang with its runtime, libclang-rt-14-dev -------------------------

FUZZ_TARGETS    = planner sampler name state box anchored report
FUZZ_SECONDS    ?= 600
FUZZ_STATEMENTS ?= 50000
FUZZ_SRCS       = $(sort $(wildcard src/core/*/*.cpp test/fuzz/*.cpp))
FUZZ_OBJS       = $(patsubst %,build/unit/fuzz_%.o,$(FUZZ_TARGETS)) # for the unit tests: the replay

build/unit/fuzz_%.o: test/fuzz/%.cpp
	@mkdir -p build/unit
	$(CXX) $(CXXFLAGS) -Itest -c -o $@ $<

FUZZ_FLAGS = -std=c++20 -O2 -g -fno-omit-frame-pointer -Isrc -Itest

# A copy of the core for each: one step, and no object is shared with the other builds.
build/fuzz/%: $(FUZZ_SRCS) $(wildcard src/core/*/*.hpp test/fuzz/*.hpp)
	@mkdir -p build/fuzz
	clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	  -DFUZZ_TARGET=fuzz_$* -o $@ $(FUZZ_SRCS) -lsodium

.PHONY: fuzz counted sql-fuzz
# New inputs collect in build/fuzz/corpus; test/fuzz/corpus is replayed by the unit tests.
fuzz: $(addprefix build/fuzz/,$(FUZZ_TARGETS))
	for target in $(FUZZ_TARGETS); do \
	  mkdir -p build/fuzz/corpus/$$target && \
	  build/fuzz/$$target -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target test/fuzz/corpus/$$target || exit 1; \
	done

# The module, counting the releases that begin.
COUNTED = build/counted
counted: $(DATA_built)
	@mkdir -p $(COUNTED)
	cp -a --parents Makefile dp_counter.control sql test/evidence.mk test/fuzz/draws src/pg/exports.map \
	  $(wildcard src/*/*.[chi]* src/*/*/*.[chi]*) $(COUNTED)
	$(MAKE) -C $(COUNTED) CORE_OBJS='$(CORE_OBJS)' \
	  PG_OBJS='$(subst src/pg/server/backend_random.o,test/fuzz/draws/counted_releases.o,$(PG_OBJS))' dp_counter.so

# SQL of our own making against a server with the extension. What is freed goes back to the system (glibc keeps what is
# below a threshold, which it raises as it sees fit): then a backend that grows leaks.
cassert-server sql-fuzz: export MALLOC_MMAP_THRESHOLD_ = 131072
sql-fuzz: counted
	test/with_server -m $(COUNTED)/dp_counter.so test/fuzz/sql $(FUZZ_STATEMENTS) $(FUZZ_SEED)

# --- faults (test/faults) -------------------------------------------------------------------------

.PHONY: faults faults-small
# Cancels at random instants, partitions by the million, failures by the ten thousand. Memory that runs
# out is among the unit tests.
faults: all
	test/with_server prove -v test/faults/cancel.pl test/faults/memory.pl

# The same in seconds, part of `make test`: extension installed, a server that libpq finds.
faults-small:
	prove test/faults/cancel.pl :: 200
	prove test/faults/memory.pl :: 0.02

# --- schedulers and drivers (test/schedulers) -------------------------------------------------------

.PHONY: schedulers
# pg_cron for some minutes, in each of its two ways, and drivers with and without PgBouncer, by the snippets of
# docs/operations.md. Debian's postgresql-NN-cron, pgbouncer, python3-psycopg and python3-psycopg2.
schedulers: all
	PG_CONFIG='$(PG_CONFIG)' prove -j 3 --exec bash test/schedulers/*.sh

# --- the page of tools/report in a browser (test/browser) --------------------------------------------

.PHONY: browser
# Needs Debian's chromium and gnuplot. Screenshots are left in build/browser.
browser: all
	test/with_server prove test/browser/report.pl

# --- timing (test/timing/timing.cpp) --------------------------------------------------------------------

build/timing/timing: test/timing/timing.cpp $(CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lsodium

.PHONY: timing
# Whether the time of a draw tells its value. A busy machine blurs, and does not feign, a difference.
timing: build/timing/timing
	$<

# --- updates (test/upgrade) -----------------------------------------------------------------------

.PHONY: upgrade
# Every update path against a fresh install, in a server of its own.
upgrade: all
	test/with_server prove --exec bash test/upgrade/run
# Writes the listing of the default version, to be checked in with its release and not changed after it.
.PHONY: upgrade-listing
upgrade-listing: all
	test/with_server test/upgrade/run write
