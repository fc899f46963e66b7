// Views of arrays, structures, meshes, every version and groups in C++.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tcasm.hpp>

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(bool holds, const char* condition, int line) {
    if (!holds) {
        std::fprintf(stderr, "stream.cpp:%d: %s does not hold\n", line, condition);
        std::exit(1);
    }
}

template <class Call>
static tcasm::status_code thrown(Call call) {
    try {
        call();
    } catch (const tcasm::error& error) {
        return error.status();
    }
    return tcasm::status_code::ok;
}

struct pair {
    double a;
    int b;
};

static void structures_and_meshes(const std::string& name) {
    tcasm::producer run(name, 1 << 20);
    const auto pairs = run.add_structures<pair>("pairs", 3, "pair");
    pairs[2] = {0.5, 42};
    run.add_block("fine", {5, 4, 1}, {1.0, 2.0, 3.0}, {0.5, 0.5, 1.0}, "amr", 1, {2, 2, 1},
                  {8, -4, 0}, {{"level", 1}});
    CHECK(static_cast<bool>(run.publish(1, 0.0)));
    CHECK(run.wait_visible());
    const tcasm::observer observer(name);
    const auto version = observer.latest();
    CHECK(version.structures<pair>("pairs").size() == 3);
    CHECK(version.structures<pair>("pairs")[2].b == 42);
    CHECK(thrown([&] { (void)version.structures<double>("pairs"); }) ==
          tcasm::status_code::invalid_argument);
    const auto meshes = version.meshes();
    CHECK(meshes.size() == 1 && meshes[0].name == "fine" && meshes[0].points[1] == 4);
    CHECK(meshes[0].kind == tcasm::mesh_kind::uniform && meshes[0].block->offset[1] == -4);
    CHECK(thrown([&] { (void)version.mesh_attrs("absent"); }) == tcasm::status_code::not_found);
}

// The value of an element tells its index in the interior, and is -1 in ghost layers.
template <class Array>
static void check_interior(const Array& u) {
    const auto inner = u.interior();
    CHECK(inner.rank() == 3 && inner.extent(0) == 2 && inner.extent(1) == 3);
    CHECK(inner.extent(2) == 2 && inner.components() == 2 && inner.order() == u.order());
    CHECK((inner.ghosts(0) == std::pair<std::size_t, std::size_t>(0, 0)));
    CHECK((u.ghosts(1) == std::pair<std::size_t, std::size_t>(2, 1)));
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            for (int c = 0; c < 2; ++c) {
                CHECK(inner(i, j, c) == 100 * i + 10 * j + c);
            }
        }
    }
    CHECK(&inner(0, 0, 0) == &u(1, 2, 0) && inner.data() == &inner(0, 0, 0));
    const auto* end = &inner(1, 2, 1) + 1;
    CHECK(inner.layout().bytes == static_cast<std::size_t>(end - inner.data()) * sizeof(int));
    CHECK(thrown([&] { (void)inner.span(); }) == tcasm::status_code::invalid_argument);
    CHECK(thrown([&] { (void)inner.at({2, 0, 0}); }) == tcasm::status_code::invalid_argument);
    const auto again = inner.interior();
    CHECK(again.data() == inner.data() && again.size() == inner.size());
}

template <class Array>
static void check_mdspan([[maybe_unused]] const Array& u) {
#ifdef __cpp_lib_mdspan
    const auto all = u.template mdspan<3>();
    const auto inner = u.interior().template mdspan<3>();
    CHECK(all.extent(0) == 4 && all.extent(1) == 6 && inner.extent(1) == 3);
    CHECK(all.stride(0) == u.stride(0) && all.stride(2) == u.stride(2));
    CHECK((&all[1, 2, 1] == &u(1, 2, 1)) && (&inner[1, 2, 1] == &u(2, 4, 1)));
    CHECK(thrown([&] { (void)u.template mdspan<2>(); }) == tcasm::status_code::invalid_argument);
#endif
}

// Interiors and views of the standard library, of live memory and of versions, in both orders.
static void views_of_arrays(const std::string& name) {
    tcasm::producer run(name, 1 << 20);
    for (const auto order : {tcasm::order::c, tcasm::order::fortran}) {
        const char* field = order == tcasm::order::c ? "c" : "fortran";
        const auto u = run.add_field<int>(
            field, {4, 6, 2},
            tcasm::field_options().order(order).vector().ghosts({{1, 1}, {2, 1}}));
        std::ranges::fill(u.span(), -1);
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 3; ++j) {
                for (int c = 0; c < 2; ++c) {
                    u(i + 1, j + 2, c) = 100 * i + 10 * j + c;
                }
            }
        }
        check_interior(u);
        check_mdspan(u);
    }
    CHECK(static_cast<bool>(run.publish(1, 0.0)));
    CHECK(run.wait_visible());
    const auto version = tcasm::observer(name).latest();
    for (const char* field : {"c", "fortran"}) {
        check_interior(version.array<int>(field));
        check_mdspan(version.array<int>(field));
    }
}

static void every_version(const std::string& name) {
    using namespace std::chrono_literals;
    tcasm::producer run(name, 1 << 20, tcasm::options().versions(4).history(0));
    run.add_field<double>("u", {4});
    const tcasm::observer observer(name);
    observer.every_version();
    for (unsigned step = 1; step < 4; ++step) {
        CHECK(static_cast<bool>(run.publish(step, 0.0)));
        CHECK(run.wait_visible());
    }
    for (unsigned step = 1; step < 4; ++step) {
        CHECK(observer.next(5s).step() == step);
    }
    CHECK(observer.missed().empty());
    observer.every_version(false);
}

static void global_arrays(const std::string& name) {
    using namespace std::chrono_literals;
    const auto rank = [&](std::uint32_t r) {
        tcasm::producer run(name, 1 << 20, tcasm::options().group(r, 2, 2, "run 1"));
        auto u = run.add_field<float>("u", {3, 2}, tcasm::field_options().global({3, 4}, {0, 2 * r}));
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < 2; ++j) {
                u(i, j) = static_cast<float>(10 * i + j + 2 * r);
            }
        }
        return run;
    };
    tcasm::producer ranks[] = {rank(0), rank(1)};
    const tcasm::group_observer group(name);
    for (auto& run : ranks) {
        CHECK(static_cast<bool>(run.publish(7, 0.0)));
    }
    const auto version = group.wait_newer(5s);
    CHECK(version.step() == 7 && version.ranks() == 2 && version.members().size() == 2);
    CHECK(version.member(1).array<float>("u")(2, 1) == 23.0f);
    const auto rows = version.read_global<float>("u");
    const auto columns = version.read_global<float>("u", tcasm::order::fortran);
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
            CHECK(rows[4 * i + j] == static_cast<float>(10 * i + j));
            CHECK(columns[3 * j + i] == rows[4 * i + j]);
        }
    }
    CHECK(version.read_global<float>("u", {1, 1}, {1, 2})[1] == 12.0f);
    CHECK(thrown([&] { (void)version.read_global<double>("u"); }) ==
          tcasm::status_code::invalid_argument);
    CHECK(group.steps() == std::vector<std::uint64_t>{7});
    CHECK(group.at(7).step() == 7);
    CHECK(!group.try_wait_newer(10ms));
}

int main(int, char** arguments) {
    const std::string name = arguments[1];
    views_of_arrays(name + "-views");
    structures_and_meshes(name + "-structures");
    every_version(name + "-every");
    global_arrays(name + "-group");
}
