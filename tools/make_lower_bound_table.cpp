// Certifies lower bounds on the error of every Laplace factorisation and prints
// src/core/literature/lower_bound_table.inc. docs/derivation.md, section 10, has the proof that it
// follows, and its names.
//
//   g++ -std=c++20 -O3 -march=native tools/make_lower_bound_table.cpp -llapack -lblas
//       -o /tmp/make_lower_bound_table
//   /tmp/make_lower_bound_table > src/core/literature/lower_bound_table.inc      (a quarter of an
//                                                                                 hour)
//
// Where good vectors y come from is of no concern: a search in double precision finds them. That
// they are a bound is checked in integers, without rounding. What is left in floating point are
// sums of positive numbers, with a relative error below 1e-12 each; the result is lowered by 1e-9
// and rounded down.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <vector>

extern "C" {
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*,
             const int*, int*, const int*, int*);
void dstevd_(const char*, const int*, double*, double*, double*, const int*, double*, const int*,
             int*, const int*, int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
}

namespace {

using Integer = std::int64_t;
using Wide = __int128;

/// Square, by columns.
template <class Number>
struct Matrix {
    explicit Matrix(int n) : size(n), entry(static_cast<std::size_t>(n) * n) {}
    Number& operator()(int row, int column) {
        return entry[row + static_cast<std::size_t>(column) * size];
    }
    Number* column(int j) { return &entry[static_cast<std::size_t>(j) * size]; }

    int size;
    std::vector<Number> entry;
};

void check(bool holds, const char* what) {
    if (holds)
        return;
    (void)std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

/// Eigenvalues, rising; `a` becomes the eigenvectors.
std::vector<double> eigenvalues(Matrix<double>& a) {
    const int n = a.size;
    const int work_size = 1 + 6 * n + 2 * n * n;
    const int index_size = 3 + 5 * n;
    std::vector<double> value(n);
    std::vector<double> work(work_size);
    std::vector<int> index(index_size);
    int info = 0;
    dsyevd_("V", "U", &n, a.entry.data(), &n, value.data(), work.data(), &work_size, index.data(),
            &index_size, &info);
    check(info == 0, "dsyevd failed");
    return value;
}

// --- the search: good vectors y
// -------------------------------------------------------------------

/// Columns y_j that make the sum over j of w_j <y_j, Z a_j> small at its least over 0 <= Z <= 1 of
/// trace T - n: y_j = Z a_j / |Z a_j| at the minimum, by reweighted least squares. With the weights
/// c the minimum is that of tr Z^2 A diag(c) A^T, whose inverse is tridiagonal.
Matrix<double> search(const std::vector<double>& w, int n) {
    const int size = static_cast<int>(w.size());
    std::vector<double> c(size);
    for (int j = 0; j < size; ++j)
        c[j] = w[j] / (0.3 * std::sqrt(size / (n + 1.0)));
    Matrix<double> za(size);
    for (int iteration = 0; iteration < 7; ++iteration) {
        std::vector<double> value(size);
        std::vector<double> off(size);
        for (int i = 0; i < size; ++i) {
            value[i] = 1 / c[i] + (i + 1 < size ? 1 / c[i + 1] : 0);
            off[i] = i + 1 < size ? -1 / c[i + 1] : 0;
        }
        Matrix<double> u(size);
        const int work_size = 1 + 4 * size + size * size;
        const int index_size = 3 + 5 * size;
        std::vector<double> work(work_size);
        std::vector<int> index(index_size);
        int info = 0;
        dstevd_("V", &size, value.data(), off.data(), u.entry.data(), &size, work.data(),
                &work_size, index.data(), &index_size, &info);
        check(info == 0, "dstevd failed");
        const auto z = [&](double level, int k) { return std::min(1.0, level * value[k]); };
        double low = 0;
        double high = 1 / value[0];
        for (int halving = 0; halving < 80; ++halving) {
            const double middle = (low + high) / 2;
            double trace = 0;
            for (int k = 0; k < size; ++k)
                trace += z(middle, k);
            (trace < size - n ? low : high) = middle;
        }
        Matrix<double> right(size); // diag(z) U^T A
        for (int k = 0; k < size; ++k) {
            double sum = 0;
            for (int i = size - 1; i >= 0; --i) {
                sum += u(i, k);
                right(k, i) = z(low, k) * sum;
            }
        }
        const double one = 1;
        const double zero = 0;
        dgemm_("N", "N", &size, &size, &size, &one, u.entry.data(), &size, right.entry.data(),
               &size, &zero, za.entry.data(), &size);
        for (int j = 0; j < size; ++j) {
            const double* column = za.column(j);
            c[j] =
                w[j] /
                std::max(1e-9, std::sqrt(std::inner_product(column, column + size, column, 0.0)));
        }
    }
    for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i)
            za(i, j) *= c[j] / w[j];
    return za;
}

// --- the check, in integers
// -----------------------------------------------------------------------

constexpr int kWeightBits = 30; ///< the weights are integers below 2^30 in all
constexpr int kFineBits = 12;   ///< entries of w_j y_j in units of 2^-12 of a weight's

/// The integers N_ij, columns w_j y_j in units of 2^-kFineBits, of l2 norm w_j at most.
Matrix<Integer> exact_columns(Matrix<double> y, const std::vector<Integer>& weight) {
    Matrix<Integer> result(y.size);
    for (int j = 0; j < y.size; ++j) {
        const double scale = std::ldexp(static_cast<double>(weight[j]), kFineBits) * (1 - 1e-12);
        Wide norm = 0;
        for (int i = 0; i < y.size; ++i) {
            const auto n = static_cast<Integer>(y(i, j) * scale); // towards 0
            result(i, j) = n;
            norm += static_cast<Wide>(n) * n;
        }
        const Wide most = static_cast<Wide>(weight[j]) << kFineBits;
        check(norm <= most * most, "a y is longer than 1");
    }
    return result;
}

double root(Wide square) { // from above
    return std::sqrt(static_cast<double>(square)) * (1 + 1e-12);
}

/// The sum of the squares of what `a` has off its diagonal, and on it if told to.
template <class Number>
Wide squares(Matrix<Number>& a, bool diagonal) {
    Wide sum = 0;
    for (int j = 0; j < a.size; ++j)
        for (int i = 0; i < a.size; ++i)
            if (diagonal || i != j)
                sum += static_cast<Wide>(a(i, j)) * a(i, j);
    return sum;
}

/// The product of the transpose of `a` with `a`.
Matrix<Integer> gram(Matrix<std::int32_t>& a) {
    Matrix<Integer> result(a.size);
    for (int j = 0; j < a.size; ++j)
        for (int i = 0; i <= j; ++i) {
            const std::int32_t* x = a.column(i);
            const std::int32_t* y = a.column(j);
            Integer sum = 0; // rows and columns have norms below 2^30
            for (int k = 0; k < a.size; ++k)
                sum += static_cast<Integer>(x[k]) * y[k];
            result(i, j) = result(j, i) = sum;
        }
    return result;
}

/// For m = 0 .. T at most the sum of the T - m least eigenvalues of the symmetric matrix q / 2^52.
/// With q + s = G G^T + E exactly, G^T G = D + F: by Ky Fan the m greatest of q + s have at most
/// the sum of D's m greatest and sqrt(m) (|E| + |F|) in Frobenius' norm.
std::vector<double> least_sums(Matrix<Integer>& q) {
    constexpr int kHalf = 26;
    const int size = q.size;
    Matrix<double> vectors(size);
    for (std::size_t i = 0; i < q.entry.size(); ++i)
        vectors.entry[i] = std::ldexp(static_cast<double>(q.entry[i]), -2 * kHalf);
    const std::vector<double> value = eigenvalues(vectors);
    const auto shift = static_cast<Integer>(std::ldexp(std::max(0.0, -value[0]) + 1e-9, 2 * kHalf));
    Matrix<std::int32_t> g(size);
    Matrix<std::int32_t> transposed(size);
    for (int k = 0; k < size; ++k) {
        const double length = std::ldexp(
            std::sqrt(std::max(0.0, value[k] + std::ldexp(static_cast<double>(shift), -2 * kHalf))),
            kHalf);
        check(length < 0x1p29, "an eigenvalue is too large");
        for (int i = 0; i < size; ++i)
            g(i, k) = transposed(k, i) =
                static_cast<std::int32_t>(std::lround(vectors(i, k) * length));
    }
    Matrix<Integer> rest = gram(transposed); // G G^T
    for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i)
            rest(i, j) = q(i, j) + (i == j ? shift : 0) - rest(i, j);
    Matrix<Integer> inner = gram(g);
    const double error = root(squares(rest, true)) + root(squares(inner, false));
    std::vector<Integer> diagonal(size);
    Wide sum = 0; // of all eigenvalues of q, less the greatest
    for (int k = 0; k < size; ++k) {
        diagonal[k] = inner(k, k);
        sum += q(k, k);
    }
    std::sort(diagonal.rbegin(), diagonal.rend());
    std::vector<double> result(size + 1);
    for (int m = 0; m <= size; ++m) {
        const double bound = std::ldexp(static_cast<double>(sum) -
                                            std::sqrt(static_cast<double>(m)) * (1 + 1e-12) * error,
                                        -2 * kHalf);
        result[m] = bound - 1e-12;
        if (m < size)
            sum -= static_cast<Wide>(diagonal[m]) - shift;
    }
    result[size] = 0;
    return result;
}

/// What one choice of y proves, for n = 0 .. T: the sums for A, and those for A - 1/2.
struct Certificate {
    std::vector<double> whole;
    std::vector<double> half;
};

/// e_0 .. e_T from all of them, for A with half_part times 1/2 less on its diagonal: the sum of the
/// least eigenvalues is concave in the matrix, so that mixed sums of one y are a bound for the
/// mixed matrix.
std::vector<double> best_of(const std::vector<Certificate>& certificates, long double half_part) {
    std::vector<double> e(certificates.front().whole.size());
    for (const Certificate& certificate : certificates)
        for (std::size_t n = 0; n < e.size(); ++n)
            e[n] = std::max(e[n], static_cast<double>((1 - half_part) * certificate.whole[n] +
                                                      half_part * certificate.half[n]));
    return e;
}

std::vector<Certificate> certify(int size, double exponent, bool with_half) {
    std::vector<double> w(size);
    std::vector<Integer> weight(size);
    for (int j = 0; j < size; ++j)
        w[j] = std::pow(1 - (j + 0.5) / size, exponent);
    const double all = std::accumulate(w.begin(), w.end(), 0.0);
    for (int j = 0; j < size; ++j) {
        w[j] /= all;
        weight[j] = exponent == 0 ? (Integer{1} << kWeightBits) / size
                                  : static_cast<Integer>(std::ldexp(w[j], kWeightBits));
    }
    const double total =
        static_cast<double>(std::accumulate(weight.begin(), weight.end(), Integer{}));
    std::vector<Certificate> result;
    double last = -1;
    for (double at = 0; at < size; at = std::max(at + 1, at * 1.25)) {
        const int n = static_cast<int>(at);
        if (n == last)
            continue;
        last = n;
        Matrix<Integer> y = exact_columns(search(w, n), weight);
        // Rows i, columns k: twice the sum over j <= i of N_kj, less N_ki for A - 1/2, symmetrised.
        Matrix<Integer> sums(size);
        for (int k = 0; k < size; ++k) {
            Integer sum = 0;
            for (int i = 0; i < size; ++i)
                sums(i, k) = sum += y(k, i);
        }
        const auto sums_of = [&](bool half) {
            // In units of 2^-(kWeightBits + kFineBits + 2); times 2^8 in those of 2^-52.
            constexpr int kUp = 52 - kWeightBits - kFineBits - 2;
            Matrix<Integer> q(size);
            for (int k = 0; k < size; ++k)
                for (int i = 0; i < size; ++i)
                    q(i, k) = (2 * (sums(i, k) + sums(k, i)) - (half ? y(k, i) + y(i, k) : 0)) *
                              (Integer{1} << kUp);
            std::vector<double> sum = least_sums(q);
            for (double& value : sum)
                value *= std::ldexp(1, kWeightBits) / total;
            return sum;
        };
        std::vector<double> whole = sums_of(false);
        result.push_back({whole, with_half ? sums_of(true) : whole});
    }
    return result;
}

// --- long streams: the filter, in closed form
// --------------------------------------------------------

/// value + slope (n - at) is at most e_n, for all n.
struct Line {
    long double at, value, slope;
};

/// Tangents of e_n for T steps of weight 1/T, y_j the shifts of the filter with the corner
/// `corner`, in 0 < corner < pi.
void add_filter(std::vector<Line>& lines, long double steps, long double corner) {
    constexpr long double kPi = std::numbers::pi_v<long double>;
    const auto quarter = [](long double angle) { // 4 sin^2(angle / 2)
        const long double s = std::sin(angle / 2);
        return 4 * s * s;
    };
    const long double top = quarter(corner); // Omega^2
    const long double cotangent = 1 / std::tan(corner / 2);
    const long double x2 = corner * corner;
    const long double bow = // corner - sin(corner)
        corner < 0.01L ? corner * x2 / 6 * (1 - x2 / 20 * (1 - x2 / 42))
                       : corner - std::sin(corner);
    const long double kappa = std::sqrt(kPi / (2 * bow / (top * top) + cotangent / 2));
    const long double zeroth = kappa / kPi * (corner / top + cotangent / 2);
    const long double all =
        kappa * kappa / kPi *
        (corner / (top * top) + (cotangent + cotangent * cotangent * cotangent / 3) / 8);
    const long double edge = std::sqrt((all - zeroth * zeroth) / 2 / steps);
    for (const long double part :
         {0.3L, 0.5L, 0.6L, 2 / 3.0L, 0.75L, 0.9L, 1.1L, 1.4L, 2.0L, 3.0L}) {
        const long double angle = part * corner;
        if (angle >= kPi)
            break;
        const long double left =
            angle < corner ? (corner - angle) / top + cotangent / 2 : 1 / std::tan(angle / 2) / 2;
        lines.push_back({angle * steps / kPi, kappa / kPi * left - edge,
                         -kappa / steps / std::max(top, quarter(angle))});
    }
}

/// The greatest of the lines, piece by piece from `from` on until it is 0: the sum over the n above
/// `from` of (e_(n-1) - e_n)^(2/3), where an n is counted with the slope on its right.
long double sum_beyond(const std::vector<Line>& lines, long double from, long double to) {
    const auto at = [](const Line& line, long double n) {
        return line.value + line.slope * (n - line.at);
    };
    const auto steepness = [](const Line& line) { return std::pow(-line.slope, 2 / 3.0L); };
    const auto before = [&](const Line& a, const Line& b) { return at(a, from) < at(b, from); };
    const Line* here = &*std::max_element(lines.begin(), lines.end(), before);
    long double sum = 0;
    long double n = from;
    while (at(*here, n) > 0 && n < to) {
        // Where the first flatter line, or the axis, comes above.
        long double next = std::min(to, here->at - here->value / here->slope);
        const Line* then = nullptr;
        for (const Line& other : lines) {
            if (other.slope <= here->slope)
                continue;
            const long double cross =
                n + (at(*here, n) - at(other, n)) / (other.slope - here->slope);
            if (cross < next) {
                next = cross;
                then = &other;
            }
        }
        next = std::max(next, n);
        sum += steepness(*here) * std::max(0.0L, std::floor(next * (1 - 1e-15L)) - std::floor(n));
        n = std::floor(next);
        if (then == nullptr)
            break;
        here = then;
    }
    return sum;
}

// --- the bound
// -------------------------------------------------------------------------------------

/// The sum over n of (e_(n-1) - e_n)^(2/3) for the greatest convex minorant of e_0 .. e_N.
long double sum_of_hull(const std::vector<double>& e) {
    std::vector<std::size_t> hull;
    const auto slope = [&](std::size_t a, std::size_t b) {
        return (static_cast<long double>(e[b]) - e[a]) / static_cast<long double>(b - a);
    };
    for (std::size_t n = 0; n < e.size(); ++n) {
        while (hull.size() >= 2 &&
               slope(hull.back(), n) <= slope(hull[hull.size() - 2], hull.back()))
            hull.pop_back();
        hull.push_back(n);
    }
    long double sum = 0;
    for (std::size_t i = 1; i < hull.size(); ++i)
        sum += static_cast<long double>(hull[i] - hull[i - 1]) *
               std::pow(std::max(0.0L, -slope(hull[i - 1], hull[i])), 2 / 3.0L);
    return sum;
}

long double bound(long double steps, long double sum) {
    return 2 / steps * sum * sum * sum * (1 - 1e-9L);
}

/// For `blocks` times as many steps, weights all alike.
long double bound_of_blocks(const std::vector<Certificate>& base, long double blocks) {
    const std::vector<double> mixed = best_of(base, 1 - 1 / blocks);
    const std::size_t size = mixed.size() - 1;
    const long double steps = blocks * static_cast<long double>(size);
    std::vector<Line> lines;
    constexpr int kAnOctave = 16;
    for (int i = 1; i < 66 * kAnOctave; ++i) {
        const long double corner =
            std::numbers::pi_v<long double> * std::exp2(-static_cast<long double>(i) / kAnOctave);
        if (corner * steps < 3)
            break;
        add_filter(lines, steps, corner);
    }
    const std::size_t inner = std::min(2 * size, static_cast<std::size_t>(steps));
    std::vector<double> e(inner + 1);
    for (std::size_t n = 0; n <= inner; ++n) {
        if (n <= size)
            e[n] = static_cast<double>(std::sqrt(blocks)) * mixed[n];
        for (const Line& line : lines)
            e[n] = std::max(e[n],
                            static_cast<double>(
                                line.value + line.slope * (static_cast<long double>(n) - line.at)));
    }
    const auto from = static_cast<long double>(inner);
    const long double beyond = sum_beyond(lines, from, steps);
    return bound(steps, sum_of_hull(e) + beyond);
}

/// A bound for fewer steps is one for more: what is not above it need not be told.
class Table {
public:
    void offer(double steps, long double value) {
        const long double unit = std::pow(10.0L, std::floor(std::log10(value)) - 5);
        const long double down = std::floor(value / unit) * unit; // six digits
        if (down <= last_)
            return;
        last_ = down;
        std::printf("{%.0f, %.6Lg},\n", steps, down);
        (void)std::fflush(stdout);
    }

private:
    long double last_ = 0;
};

} // namespace

int main() {
    std::printf("// Made by tools/make_lower_bound_table.cpp. {horizon, lower bound}\n");
    constexpr int kMostDirect = 1024;
    constexpr int kMostBase = 512;
    const double quarter = std::exp2(0.25);
    Table table;
    const auto direct = [&](int size) {
        long double best = 0;
        for (const double exponent : {0.0, 0.3, 0.55}) // 0 and 0.3 are best up to some ten steps
            if (size <= 16 || exponent == 0.55)
                best = std::max(
                    best, bound(size, sum_of_hull(best_of(certify(size, exponent, false), 0))));
        table.offer(size, best);
    };
    for (int size = 1; size < kMostBase; size = std::max(size + 1, size * 26 / 25))
        direct(size);
    for (int i = 0; i <= 8; ++i)
        direct(static_cast<int>(std::lround(kMostBase * std::exp2(i / 8.0))));
    std::vector<std::vector<Certificate>> bases;
    for (int i = 1; i <= 4; ++i)
        bases.push_back(
            certify(static_cast<int>(std::lround(kMostBase / 2 * std::pow(quarter, i))), 0, true));
    for (double blocks = 2; blocks * kMostBase <= 0x1p62; blocks *= 2)
        for (const std::vector<Certificate>& base : bases) {
            const double steps = blocks * static_cast<double>(base.front().whole.size() - 1);
            if (steps > kMostDirect)
                table.offer(steps, bound_of_blocks(base, blocks));
        }
}
