// Audits releases that were made elsewhere.
//
// usage: judge ERROR ONE OTHER     two files, a run of releases a line, of neighboring streams
//
// Prints a lower bound for epsilon, wrong with probability at most ERROR, and the event that shows
// it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "audit/audit.hpp"

using namespace dp_counter::test;

namespace {

Releases read(const char* path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line))
        throw std::runtime_error(std::string("no releases in ") + path);
    std::istringstream first(line);
    std::vector<std::int64_t> steps;
    for (std::int64_t value = 0; first >> value;)
        steps.push_back(static_cast<std::int64_t>(steps.size()) + 1);
    Releases releases(steps);
    do {
        std::istringstream run(line);
        std::int64_t value = 0;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (!(run >> value))
                throw std::runtime_error(std::string("a run is too short in ") + path);
            releases.add(value);
        }
    } while (std::getline(file, line));
    return releases;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: judge ERROR ONE OTHER\n", stderr);
        return 2;
    }
    try {
        const Releases one = read(argv[2]);
        const Audit result = audit(one, read(argv[3]), std::strtod(argv[1], nullptr));
        std::printf("%.3f %s\n", result.epsilon, result.event.text(one.steps()).c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "judge: %s\n", error.what());
        return 2;
    }
    return 0;
}
