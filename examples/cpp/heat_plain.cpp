// Heat in a plate, in ordinary memory. The edges are cold, and the middle is heated. Compare with
// heat.cpp.
#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

constexpr std::size_t n = 128;
constexpr unsigned steps = 1000;

/// Computes the next temperatures from those of now.
void step(std::span<const double> now, std::span<double> next) {
    for (std::size_t i = 1; i < n - 1; ++i) {
        for (std::size_t j = 1; j < n - 1; ++j) {
            const std::size_t at = i * n + j;
            next[at] = now[at] + 0.2 * (now[at - n] + now[at + n] + now[at - 1] + now[at + 1] -
                                        4.0 * now[at]);
        }
    }
    next[n / 2 * n + n / 2] = 100.0;
}

int main() {
    std::vector<double> now(n * n);
    std::vector<double> next(n * n);

    for (unsigned i = 1; i <= steps; ++i) {
        step(now, next);
        std::swap(now, next);
    }
    std::printf("%.17g\n", now[n / 2 * n + n / 2 + 10]);
}
