# Evidence: checks that take minutes to hours, apart from audit-small. docs/evidence.md has the figures.

# --- the privacy audit (test/audit) ---------------------------------------------------------------

AUDIT_OBJS = $(patsubst test/audit/%.cpp,build/audit/%.o,\
               $(filter-out %_main.cpp,$(sort $(wildcard test/audit/*.cpp))))

build/audit/%.o: test/audit/%.cpp $(HEADERS_CORE) $(wildcard test/audit/*.hpp)
	@mkdir -p build/audit
	$(CXX) $(CXXFLAGS) -Itest -c -o $@ $<

build/audit/%: build/audit/%_main.o $(AUDIT_OBJS) $(CORE_OBJS)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lsodium

.PHONY: audit-small audit audit-power
# Through SQL, in seconds, part of `make test`; the unit tests hold one through the core.
audit-small: build/audit/judge
	prove --exec bash test/audit/sql :: -t small

# In full. Like audit-small it needs the extension installed and a server.
audit: build/audit/core build/audit/judge
	build/audit/core all
	test/audit/sql all

# Every mutant of test/audit/mutants has to be flagged.
audit-power: all build/audit/core build/audit/judge
	test/with_server test/audit/power

# --- sanitizers -----------------------------------------------------------------------------------

SANITIZED = build/sanitized
SANITIZED_OBJS = $(patsubst %.cpp,$(SANITIZED)/%.o,$(sort $(wildcard src/core/*.cpp test/unit/*_test.cpp) \
                   $(filter-out %_main.cpp,$(wildcard test/audit/*.cpp))))
UNIT_LIBS = -lgtest_main -lgtest -lgmpxx -lgmp -lmpfr -lsodium -lpthread

$(SANITIZED)/%.o: %.cpp $(HEADERS_CORE) $(wildcard test/unit/*.hpp test/audit/*.hpp)
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
	rm -f build/ubsan/src/*/*.o
	$(MAKE) -C build/ubsan SANITIZE='-fsanitize=undefined -fno-sanitize-recover=all' dp_counter.so
	test/with_server -m build/ubsan/dp_counter.so $(MAKE) installcheck pgtap

# The core's tests under valgrind: those that take samples by the million would take hours.
VALGRIND_FILTER = -*Distribution*:*Variance*:*ChiSquare*:*Vary*:Audit.No*
valgrind-unit: build/unit/unit
	valgrind -q --error-exitcode=1 --leak-check=full --show-leak-kinds=definite,indirect,possible \
	  $< --gtest_brief=1 --gtest_filter='$(VALGRIND_FILTER)'

# --- every supported PostgreSQL ---------------------------------------------------------------------

.PHONY: test-all-majors
# Root, debootstrap and the network: roots with PostgreSQL 13 to 18, every suite in each.
test-all-majors:
	test/majors/run
