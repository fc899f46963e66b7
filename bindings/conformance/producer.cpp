// The producer of the conformance suite in C++. README.md says what it does.
#include <tcasm.hpp>

#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <iostream>

namespace {

using filler = std::function<void(tcasm::producer&, std::size_t step)>;

template <class T>
T value(int b) {
    if constexpr (std::is_integral_v<T>) {
        T integer;
        std::memset(&integer, b, sizeof integer);
        return integer;
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(b - 125) / 4;
    } else {
        using real = typename T::value_type;
        return {value<real>(b), static_cast<real>(b) / 2};
    }
}

/// Calls the operator () of the array with the numbers of the index.
template <class T, std::size_t... Axis>
T& element(const tcasm::array_view<T>& array, const std::size_t* index,
           std::index_sequence<Axis...>) {
    return array(index[Axis]...);
}

template <class T, std::size_t Rank>
void fill_field(const tcasm::array_view<T>& array, std::size_t seed, std::size_t step) {
    std::array<std::size_t, 7> index{};
    for (std::size_t n = 0; n < array.size(); ++n) {
        std::size_t rest = n;
        for (std::size_t axis = Rank; axis-- > 0; rest /= array.extent(axis)) {
            index[axis] = rest % array.extent(axis);
        }
        const auto b = static_cast<int>((n * 7 + seed * 13 + step * 101) % 251);
        element(array, index.data(), std::make_index_sequence<Rank>()) = value<T>(b);
    }
}

class region {
public:
    explicit region(const std::string& name)
        : producer_(name, 16 << 20, tcasm::options().versions(4).attrs(attrs())) {
        add_types();
        for (const auto order : {tcasm::order::c, tcasm::order::fortran}) {
            add_ranks(order, std::make_index_sequence<8>());
        }
        add_special();
        adopt_arrays();
    }

    const char* publish(std::size_t step) {
        producer_.set_len("variable", 2 + step);
        producer_.set_block("fine", "amr", 1, {2, 2, 1}, {static_cast<std::int64_t>(step), -2, 0});
        producer_.rewrite("handed");
        for (const auto& fill : fills_) {
            fill(producer_, step);
        }
        const auto receipt = producer_.publish(step, static_cast<double>(step) * 0.5);
        for (const auto& name : producer_.lost()) {
            std::cout << "lost " << name << '\n';
        }
        return receipt ? "published" : "skipped";
    }

    const char* unmap() {
        fills_.pop_back();
        return munmap(doomed_, doomed_bytes) == 0 ? "unmapped" : "still mapped";
    }

    const char* drop() {
        producer_.release_adopted("doomed");
        return "dropped";
    }

private:
    static tcasm::attrs attrs() {
        return {{"cells", -42}, {"dt", 0.25}, {"code", "conformance \u00e9"},
                {"box", std::vector{-3.0, 1.0, 2.5}}};
    }

    template <class T, std::size_t Rank>
    void add(const std::string& name, const tcasm::shape& shape,
             const tcasm::field_options& options = {}) {
        producer_.add_field<T>(name, shape, options);
        fills_.emplace_back([name, seed = fills_.size()](tcasm::producer& p, std::size_t step) {
            fill_field<T, Rank>(p.live<T>(name), seed, step);
        });
    }

    template <class T>
    void add_type(const std::string& name) {
        add<T, 2>(name, {3, 4}, tcasm::field_options().order(tcasm::order(fills_.size() % 2)));
    }

    void add_types() {
        add_type<std::int8_t>("i8");
        add_type<std::int16_t>("i16");
        add_type<std::int32_t>("i32");
        add_type<std::int64_t>("i64");
        add_type<std::uint8_t>("u8");
        add_type<std::uint16_t>("u16");
        add_type<std::uint32_t>("u32");
        add_type<std::uint64_t>("u64");
        add_type<float>("f32");
        add_type<double>("f64");
        add_type<std::complex<float>>("c32");
        add_type<std::complex<double>>("c64");
    }

    template <std::size_t... Rank>
    void add_ranks(tcasm::order order, std::index_sequence<Rank...>) {
        const tcasm::shape extents{2, 3, 2, 2, 1, 2, 3};
        const std::string prefix = order == tcasm::order::c ? "c" : "f";
        (add<double, Rank>(prefix + std::to_string(Rank),
                           {extents.begin(), extents.begin() + static_cast<int>(Rank)},
                           tcasm::field_options().order(order)),
         ...);
    }

    void add_special() {
        using options = tcasm::field_options;
        add<double, 2>("ghosts", {4, 5},
                       options().order(tcasm::order::fortran).ghosts({{1, 2}, {0, 1}}).unit("K")
                           .centring(tcasm::centring::cells).attrs(attrs()));
        add<float, 3>("vector", {3, 2, 3}, options().order(tcasm::order::fortran).vector());
        add<std::int32_t, 1>("variable", {8}, options().variable());
        add<double, 1>("handed", {6}, options().handed_over());
        producer_.add_uniform_mesh("grid", {4, 3, 1}, {0.0, 1.0, 0.0}, {0.5, 0.25, 1.0});
        producer_.add_block("fine", {5, 3, 1}, {1.0, 1.0, 0.0}, {0.25, 0.5, 1.0}, "amr", 1,
                            {2, 2, 1}, {0, 0, 0}, attrs());
        producer_.add_mesh("axes", tcasm::mesh_kind::rectilinear, {"c1", "f1"});
        add<double, 2>("meshed", {3, 4}, options().on("grid").quantity("heat"));
    }

    template <class T>
    void adopt(const std::string& name, T* data, const tcasm::shape& shape,
               const tcasm::field_options& options) {
        producer_.adopt(name, data, shape, options);
        fills_.emplace_back([name, seed = fills_.size()](tcasm::producer& p, std::size_t step) {
            fill_field<T, 2>(p.live<T>(name), seed, step);
        });
    }

    void adopt_arrays() {
        adopt("adopted", adopted_.data(), {40, 30}, tcasm::field_options().unit("Pa"));
        // Nothing else is mapped near this address.
        doomed_ = mmap(reinterpret_cast<void*>(0x300000000000), doomed_bytes,
                       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (doomed_ == MAP_FAILED) {
            throw std::bad_alloc();
        }
        adopt("doomed", static_cast<float*>(doomed_), {50, 60},
              tcasm::field_options().order(tcasm::order::fortran));
    }

    static constexpr std::size_t doomed_bytes = 50 * 60 * sizeof(float);
    // Outlives the producer, which is destroyed first.
    std::vector<double> adopted_ = std::vector<double>(40 * 30);
    void* doomed_ = nullptr;
    tcasm::producer producer_;
    std::vector<filler> fills_;
};

} // namespace

int main(int, char** arguments) {
    region fields(arguments[1]);
    std::cout << "ready\n." << std::endl;
    std::string line;
    for (std::size_t step = 1; std::getline(std::cin, line);) {
        const char* answer = line == "publish" ? fields.publish(step++)
                             : line == "unmap" ? fields.unmap()
                                               : fields.drop();
        std::cout << answer << "\n." << std::endl;
    }
}
