// The smallest producer: a field of eight numbers, published ten times per second for half a
// minute.
#include <tcasm.hpp>

#include <algorithm>
#include <thread>

int main() {
    tcasm::producer producer("hello", 1 << 20);
    const auto heat = producer.add_field<double>("heat", {8}, tcasm::field_options().unit("K"));

    for (unsigned step = 1; step <= 300; ++step) {
        std::ranges::fill(heat.span(), step);
        producer.publish(step, step * 0.1);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}
