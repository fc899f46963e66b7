// Heat in a plate, in a region. The edges are cold, and the middle is heated. Each step is
// published: look at it with `tcasm view heat`.
#include <tcasm.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>

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
    tcasm::producer heat("heat", 1 << 20);
    auto now = heat.add_field<double>("t", {n, n}).span();
    auto buffer = heat.buffer_like("t");
    auto next = buffer.array<double>().span();

    for (unsigned i = 1; i <= steps; ++i) {
        step(now, next);
        std::swap(now, next);
        heat.bind("t", buffer); // the buffer is now the one that the field had
        heat.publish(i, 0.1 * i);
    }
    std::printf("%.17g\n", now[n / 2 * n + n / 2 + 10]);
}
