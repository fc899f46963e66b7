// Heat in a plate, in ordinary memory. Compare with heat.cpp.
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

constexpr std::size_t n = 128;

int main() {
    std::vector<double> t(n * n);
    std::vector<double> next(n * n);
    for (std::size_t j = 0; j < n; ++j) {
        t[j] = next[j] = 100.0; // one edge is hot
    }
    for (unsigned step = 1; step <= 200; ++step) {
        for (std::size_t i = 1; i < n - 1; ++i) {
            for (std::size_t j = 1; j < n - 1; ++j) {
                const std::size_t at = i * n + j;
                const double around = t[at - n] + t[at + n] + t[at - 1] + t[at + 1];
                next[at] = t[at] + 0.2 * (around - 4.0 * t[at]);
            }
        }
        std::swap(t, next);
    }
    double sum = 0.0;
    for (const double value : t) {
        sum += value;
    }
    std::printf("mean %.6f\n", sum / (n * n));
}
