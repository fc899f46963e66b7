// Heat in a plate, published after each step. The difference to heat_plain.cpp is what a simulation
// must change. Look at it with `tcasm view heat`.
#include <tcasm.hpp>

#include <cstddef>
#include <cstdio>
#include <utility>

constexpr std::size_t n = 128;

int main() {
    tcasm::producer producer("heat", 1 << 20);
    auto t = producer.add_field<double>("t", {n, n}, tcasm::field_options().unit("K")).span();
    auto buffer = producer.buffer_like("t");
    auto next = buffer.array<double>().span();
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
        producer.bind("t", buffer); // the field is now the buffer that was computed
        producer.publish(step, step * 0.1);
    }
    double sum = 0.0;
    for (const double value : t) {
        sum += value;
    }
    std::printf("mean %.6f\n", sum / (n * n));
}
