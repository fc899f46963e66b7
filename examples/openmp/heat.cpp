// Heat in a plate, with the threads of OpenMP. The edges are cold, and the middle is hot. Each step
// relaxes the temperatures in place, in a field of the region, and is published:
//   heat_openmp [NAME [STEPS]]
#include <tcasm.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

constexpr std::size_t n = 256;

/// Relaxes the rows of one colour of a chessboard. All neighbours of a point have the other colour,
/// so the threads may take the rows in any order: the result has the same bits.
void relax(std::span<double> t, std::size_t colour) {
    // The threads go on when they have done their rows: `nowait` leaves out the barrier here.
#pragma omp for schedule(static) nowait
    for (std::size_t i = 1; i < n - 1; ++i) {
        for (std::size_t j = 1 + (i + colour) % 2; j < n - 1; j += 2) {
            const std::size_t at = i * n + j;
            t[at] = 0.25 * ((t[at - n] + t[at + n]) + (t[at - 1] + t[at + 1]));
        }
    }
}

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "heat";
    const long steps = argc > 2 ? std::atol(argv[2]) : 20000;

    tcasm::producer region(name, n * n * sizeof(double));
    const std::span<double> t =
        region.add_field<double>("t", {n, n}, tcasm::field_options().unit("K")).span();
    const std::size_t middle = n / 2 * n + n / 2;

#pragma omp parallel
    for (long step = 1; step <= steps; ++step) {
        relax(t, 0);
#pragma omp barrier // black points read red ones
        relax(t, 1);
        // Other threads may be in the middle of their stores. A version must not have half a step,
        // so all of them end before it is published.
#pragma omp barrier
        // One thread publishes. The others wait at the end of the block, and store nothing.
#pragma omp single
        {
            t[middle] = 100.0;
            // An observer that takes every version may be behind: it gets a second to catch up.
            // Without such an observer nothing waits.
            region.publish(static_cast<std::uint64_t>(step), 0.1 * static_cast<double>(step),
                           tcasm::seconds(1));
        }
    }
    std::printf("%.17g\n", t[middle + 10]);
}
