// The smallest observer: attaches to `hello` and prints the field of each version until the
// producer ends.
#include <tcasm.hpp>

#include <iostream>

int main() {
    try {
        const tcasm::observer observer("hello", std::chrono::seconds(10));
        for (const auto& version : observer) {
            std::cout << "step " << version.step() << ":";
            for (const double heat : version.array<double>("heat").span()) {
                std::cout << ' ' << heat;
            }
            std::cout << std::endl;
        }
    } catch (const tcasm::error& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
