// Integers without limit, by Boost: the one door to its header.
#pragma once

#include <istream>
#include <ostream>

// Boost includes <iostream> and uses none of its objects. Before GCC 13 the include initializes
// them when the module is loaded, which takes a tenth of a millisecond of a backend's first call.
#pragma push_macro("_GLIBCXX_IOSTREAM")
#define _GLIBCXX_IOSTREAM 1 // NOLINT: the guard of libstdc++'s header
#include <boost/multiprecision/cpp_int.hpp>
#pragma pop_macro("_GLIBCXX_IOSTREAM")
