// The observer of the conformance suite in C++. README.md says what it does.
#include <tcasm.hpp>

#include <cstdio>
#include <cstring>
#include <iostream>

namespace {

void print(const std::int64_t value) { std::printf("int %lld", static_cast<long long>(value)); }
void print(const double value) { std::printf("float %.2f", value); }
void print(const std::string& value) { std::printf("text %s", value.c_str()); }
void print(const std::vector<double>& values) {
    std::printf("floats");
    for (const double value : values) {
        std::printf(" %.2f", value);
    }
}

void print_attrs(const tcasm::attrs& attrs) {
    for (const auto& [name, value] : attrs.values()) {
        std::printf("attr %s ", name.c_str());
        std::visit([](const auto& v) { print(v); }, value);
        std::printf("\n");
    }
}

template <class T>
void print_element(const T& value) {
    if constexpr (std::is_integral_v<T>) {
        std::printf(" %s", std::to_string(value).c_str());
    } else if constexpr (std::is_floating_point_v<T>) {
        std::printf(" %.2f", static_cast<double>(value));
    } else {
        std::printf(" %.2f:%.2f", static_cast<double>(value.real()),
                    static_cast<double>(value.imag()));
    }
}

template <class T>
void print_values(const tcasm::version& version, const std::string& name) {
    const auto array = version.array<T>(name);
    std::vector<std::size_t> index(array.rank());
    std::printf("values");
    for (std::size_t n = 0; n < array.size(); ++n) {
        std::size_t rest = n;
        for (std::size_t axis = array.rank(); axis-- > 0; rest /= array.extent(axis)) {
            index[axis] = rest % array.extent(axis);
        }
        print_element(array.at(index));
    }
    std::printf("\n");
}

struct type {
    const char* name;
    void (*print)(const tcasm::version&, const std::string&);
};

const type types[] = {
    {"", nullptr},
    {"i8", print_values<std::int8_t>},
    {"i16", print_values<std::int16_t>},
    {"i32", print_values<std::int32_t>},
    {"i64", print_values<std::int64_t>},
    {"u8", print_values<std::uint8_t>},
    {"u16", print_values<std::uint16_t>},
    {"u32", print_values<std::uint32_t>},
    {"u64", print_values<std::uint64_t>},
    {"f32", print_values<float>},
    {"f64", print_values<double>},
    {"c32", print_values<std::complex<float>>},
    {"c64", print_values<std::complex<double>>},
};

const char* name_of(tcasm::status_code status) {
    return tcasm_status_name(static_cast<int>(status)) + std::strlen("TCASM_");
}

void print_field(const tcasm::version& version, const std::string& name) {
    static const char* places[] = {"points", "cells", "none"};
    const tcasm_array a = version.layout(name);
    const type& type = types[a.dtype];
    std::printf("field %s %s shape=", name.c_str(), type.name);
    for (int axis = 0; axis < a.rank; ++axis) {
        std::printf("%s%zu", axis > 0 ? "," : "", a.shape[axis]);
    }
    std::printf(" order=%c ghosts=", "CF"[a.order]);
    for (int axis = 0; axis < a.rank - (a.components > 1 ? 1 : 0); ++axis) {
        std::printf("%s%zu:%zu", axis > 0 ? "," : "", a.ghosts[axis][0], a.ghosts[axis][1]);
    }
    std::printf(" components=%zu place=%s capacity=%zu unit=%s mesh=%s quantity=%s\n",
                a.components, places[a.centring], a.capacity, version.unit(name).c_str(),
                version.mesh(name).c_str(), version.quantity(name).c_str());
    print_attrs(version.attrs(name));
    type.print(version, name);
}

void print_mesh(const tcasm::mesh& m) {
    static const char* kinds[] = {"uniform",   "rectilinear",  "curvilinear",
                                  "particles", "unstructured", "mixed"};
    std::printf("mesh %s %s geometry=", m.name.c_str(), kinds[static_cast<int>(m.kind)]);
    const char* comma = "";
    for (const auto& field : m.geometry) {
        std::printf("%s%s", comma, field.c_str());
        comma = ",";
    }
    std::printf(" cells=%d points=%zu,%zu,%zu origin=%.2f,%.2f,%.2f spacing=%.2f,%.2f,%.2f",
                m.cell_type, m.points[0], m.points[1], m.points[2], m.origin[0], m.origin[1],
                m.origin[2], m.spacing[0], m.spacing[1], m.spacing[2]);
    const tcasm::block none{"", 0, {}, {}};
    const auto& block = m.block ? *m.block : none;
    const auto offset = [&](std::size_t axis) { return static_cast<long long>(block.offset[axis]); };
    std::printf(" block=%s level=%u refinement=%u,%u,%u offset=%lld,%lld,%lld\n", block.of.c_str(),
                block.level, block.refinement[0], block.refinement[1], block.refinement[2],
                offset(0), offset(1), offset(2));
}

void print_version(const tcasm::version& version) {
    std::printf("version %llu step %llu time %.2f\n",
                static_cast<unsigned long long>(version.number()),
                static_cast<unsigned long long>(version.step()), version.time());
    print_attrs(version.attrs());
    for (const auto& mesh : version.meshes()) {
        print_mesh(mesh);
        print_attrs(version.mesh_attrs(mesh.name));
    }
    for (const auto& name : version.fields()) {
        try {
            print_field(version, name);
        } catch (const tcasm::error& error) {
            std::printf("field %s %s\n", name.c_str(), name_of(error.status()));
        }
    }
}

} // namespace

int main(int, char** arguments) {
    using namespace std::chrono_literals;
    const tcasm::observer observer(arguments[1], 10s);
    std::vector<tcasm::version> held;
    std::string line;
    std::printf("ready\n.\n");
    std::fflush(stdout);
    while (std::getline(std::cin, line)) {
        tcasm::status_code status = observer.status();
        if (line == "release") {
            held.clear();
        } else if (line == "every") {
            observer.every_version();
            status = tcasm::status_code::ok;
        } else if (line == "again") {
            print_version(held.front());
        } else if (line != "status") {
            try {
                held.push_back(line == "next" ? observer.next(5s) : observer.latest());
                print_version(held.back());
                status = tcasm::status_code::ok;
            } catch (const tcasm::error& error) {
                status = error.status();
            }
        }
        std::printf("%s\n.\n", name_of(status));
        std::fflush(stdout);
    }
}
