// Views of arrays, structures, meshes, every version, changes, counters, options and groups in C++.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <tcasm.hpp>
#include <unistd.h>
#include <vector>

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

// Publishes, and waits until observers see the version.
static void publish(tcasm::producer& run, std::uint64_t step) {
    CHECK(static_cast<bool>(run.publish(step, 0.0)));
    CHECK(run.wait_visible());
}

struct pair {
    double a;
    int b;
};

struct node {
    const node* next;
    double value;
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

// Field `a` has many pages, and field `b` one and a number more.
static void changed_bytes(const std::string& name) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t numbers = page / sizeof(double);
    tcasm::producer run(name, 256 * page,
                        tcasm::options().history(4).capture(tcasm::capture::in_publish));
    const auto a = run.add_field<double>("a", {200 * numbers});
    const auto b = run.add_field<double>("b", {numbers + 1});
    std::ranges::fill(a.span(), 1.0);
    publish(run, 1);
    a(0) = a(3 * numbers) = a(4 * numbers) = 2.0;
    publish(run, 2);
    b(numbers) = 2.0;
    publish(run, 3);
    for (std::size_t i = 0; i < 200; i += 2) {
        a(i * numbers) = 4.0;
    }
    publish(run, 4);

    const tcasm::observer observer(name);
    const auto first = observer.at(1);
    const auto second = observer.at(2);
    const auto third = observer.at(3);
    using ranges = std::vector<tcasm::byte_range>;
    const ranges of_a{{0, page}, {3 * page, 2 * page}};
    CHECK(second.changed_ranges("a") == of_a && second.changed_ranges("a", first) == of_a);
    CHECK(third.changed_ranges("a", first) == of_a && third.changed_ranges("a").empty());
    CHECK((third.changed_ranges("b", first) == ranges{{page, sizeof(double)}}));
    CHECK(second.changed_ranges("b", first).empty());
    const ranges many = observer.at(4).changed_ranges("a");
    CHECK(many.size() == 100 && (many[99] == tcasm::byte_range{198 * page, page}));
    CHECK(thrown([&] { (void)third.changed_ranges("absent"); }) == tcasm::status_code::not_found);

    const auto since = third.changes_since(first);
    CHECK((since.pages == 4 && since.fields == std::vector<std::string>{"a", "b"}));
    const auto own = third.changes_since();
    CHECK((own.pages == 1 && own.fields == std::vector<std::string>{"b"}));
    CHECK(second.changes_since().pages == 3);
}

static void pointers_of_the_producer(const std::string& name) {
    tcasm::producer run(name, 1 << 20);
    const auto nodes = run.add_structures<node>("nodes", 2, "node");
    nodes[0] = {&nodes[1], 0.5};
    nodes[1] = {&nodes[0], 1.5};
    publish(run, 1);
    nodes[1].value = 2.5;
    publish(run, 2);
    const tcasm::observer observer(name);
    auto first = observer.at(1);
    const auto second = observer.at(2);
    // The producer is there itself.
    CHECK(thrown([&] { first.map_at_base(); }) == tcasm::status_code::other_error);
    run.close();
    CHECK(reinterpret_cast<std::uintptr_t>(first.map_at_base()) == observer.info().base);
    CHECK(first.structures<node>("nodes")[0].next->value == 1.5);
    CHECK(thrown([&] { second.map_at_base(); }) == tcasm::status_code::other_error);
    first.release();
    second.map_at_base();
    CHECK(second.structures<node>("nodes")[1].next->value == 0.5);
    CHECK(second.structures<node>("nodes")[1].next->next->value == 2.5);
}

static void counters(const std::string& name) {
    tcasm::producer run(name, 1 << 20, tcasm::options().versions(2).history(0));
    const auto u = run.add_field<double>("u", {4});
    const tcasm::observer observer(name);
    u(0) = 1.0;
    const auto first = run.publish(1, 0.0);
    CHECK(static_cast<bool>(first) && run.wait_visible());
    const auto held = observer.latest();
    u(0) = 2.0;
    const auto second = run.publish(2, 0.0);
    CHECK(static_cast<bool>(second) && run.wait_visible());
    u(0) = 3.0;
    CHECK(!run.publish(3, 0.0));

    const auto counted = run.stats();
    CHECK(counted.publishes == 2 && counted.skips == 1 && counted.observers == 1);
    CHECK(counted.pages == 2 && counted.pages == first.facts().pages + second.facts().pages);
    CHECK(counted.bytes > 0 && counted.bytes == first.facts().bytes + second.facts().bytes);
    CHECK(counted.held_bytes >= counted.bytes && counted.handed_over == 0);
    CHECK(counted.publish_us[0] > 0.0 && counted.publish_us[2] > 0.0);
    CHECK(counted.user_mode_only <= 1 && counted.size == sizeof counted);
    CHECK(observer.counter("Skips") == counted.skips);

    CHECK(observer.stats().windows == 0);
    CHECK(held.array<double>("u")(0) == 1.0);
    const auto taken = observer.stats();
    CHECK(taken.windows == 1 && taken.mappings >= 1 && taken.mappings <= taken.most_mappings);
    CHECK(taken.copied_bytes <= taken.copy_budget && taken.size == sizeof taken);
    observer.set_copy_budget(12345);
    CHECK(observer.stats().copy_budget == 12345);
}

static void observers_of_a_region(const std::string& name) {
    const auto self = static_cast<std::uint64_t>(getpid());
    tcasm::producer run(name, 1 << 20);
    const auto u = run.add_field<double>("u", {4});
    u(0) = 1.0;
    publish(run, 1);
    publish(run, 2);
    const tcasm::observer observer(name);
    CHECK(observer.observers().size() == 1 && observer.observers()[0].pins == 0);
    CHECK(observer.pinned(self).empty());
    const auto second = observer.latest();
    const auto first = observer.at(1);
    const auto all = observer.observers();
    CHECK(all.size() == 1 && all[0].pid == self && all[0].uid == getuid() && all[0].pins == 2);
    CHECK((observer.pinned(self) == std::vector<std::uint64_t>{1, 2}));

    const auto values = first.array<double>("u");
    CHECK(run.revoke(self) == 1);
    CHECK(run.revoke(self) == 0);
    CHECK(observer.status() == tcasm::status_code::revoked);
    CHECK(thrown([&] { (void)observer.latest(); }) == tcasm::status_code::revoked);
    CHECK(values(0) == 1.0);
}

static void lengths_and_scratch(const std::string& name) {
    tcasm::producer run(name, 1 << 20);
    tcasm::field_options variable;
    variable.variable();
    run.add_field<double>("a", {8}, variable);
    run.add_field<int>("b", {8}, variable);
    run.set_lens({{"a", 2}, {"b", 5}});
    CHECK(run.len("a") == 2 && run.len("b") == 5);
    CHECK(thrown([&] { run.set_lens({{"a", 1}, {"b", 9}}); }) == tcasm::status_code::not_defined);
    CHECK(thrown([&] { run.set_lens({{"a", 1}, {"c", 1}}); }) == tcasm::status_code::not_found);
    CHECK(run.len("a") == 2 && run.len("b") == 5);

    const auto work = run.scratch<float>({3, 4});
    CHECK(work.rank() == 2 && work.extent(0) == 3 && work.extent(1) == 4);
    CHECK(work.stride(0) == 4 && work.stride(1) == 1 && work.order() == tcasm::order::c);
    CHECK(work.span().size() == 12 && work(2, 3) == 0.0f);
    work.at({2, 3}) = 7.0f;
    CHECK(work.span()[11] == 7.0f && work.components() == 1);
    CHECK(thrown([&] { (void)run.scratch<double>({1 << 20}); }) ==
          tcasm::status_code::not_defined);

    publish(run, 1);
    work(0, 0) = 8.0f;
    const auto receipt = run.publish(2, 0.0);
    CHECK(static_cast<bool>(receipt) && run.wait_visible() && receipt.facts().pages == 0);
    const tcasm::observer observer(name);
    const auto version = observer.latest();
    CHECK((version.fields() == std::vector<std::string>{"a", "b"}));
    CHECK(version.array<double>("a").size() == 2 && version.array<int>("b").size() == 5);
    const auto info = observer.info();
    const auto at = reinterpret_cast<std::uintptr_t>(work.data());
    CHECK(at >= info.base && at + work.layout().bytes <= info.base + info.bytes);
}

// Two of four versions are kept for steps that are multiples of ten.
static void room_for_appointed_steps(const std::string& name) {
    tcasm::producer run(name, 1 << 20,
                        tcasm::options().versions(4).history(0).reserve_for_every(10));
    run.add_field<double>("u", {4});
    const tcasm::observer observer(name);
    publish(run, 1);
    const auto first = observer.latest();
    publish(run, 2);
    const auto second = observer.latest();
    CHECK(!run.publish(3, 0.0));
    publish(run, 10);
    CHECK(observer.latest().step() == 10);
    CHECK(thrown([] { tcasm::options().reserve_for_every(0); }) ==
          tcasm::status_code::invalid_argument);
}

// Returns an element that a rewriting has left out.
static double left_out(const std::string& name, bool checked) {
    tcasm::producer run(name, 4 << 20, tcasm::options().check_hand_over(checked));
    const auto u = run.add_field<double>("u", {4}, tcasm::field_options().handed_over());
    std::ranges::fill(u.span(), 1.0);
    publish(run, 1);
    run.rewrite("u");
    return u(0);
}

// Returns the threads of this process that have a name.
static std::vector<pid_t> threads(const std::string& called) {
    std::vector<pid_t> found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        std::getline(file, name);
        if (name == called) {
            found.push_back(std::stoi(task.path().filename().string()));
        }
    }
    return found;
}

static bool runs_only_on(pid_t thread, std::size_t processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(thread, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1 &&
           CPU_ISSET(processor, &set);
}

static void threads_that_copy(const std::string& name) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    std::size_t last = 0;
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
        last = CPU_ISSET(i, &allowed) ? i : last;
    }
    const tcasm::producer run(
        name, 1 << 20, tcasm::options().copiers(1).copier_affinity({last}).copier_nice(19));
    // The thread does both itself, after its start.
    bool done = false;
    for (int tries = 0; !done && tries < 500; ++tries) {
        usleep(10000);
        const auto found = threads("tcasm-copier");
        done = found.size() == 1 && runs_only_on(found[0], last) &&
               getpriority(PRIO_PROCESS, static_cast<id_t>(found[0])) == 19;
    }
    CHECK(done);
}

// Returns true if there can be no region with these options, and the error has some words.
static bool refused(const std::string& words, const std::string& name,
                    const tcasm::options& settings) {
    try {
        const tcasm::producer run(name, 1 << 20, settings);
    } catch (const tcasm::error& error) {
        return std::string(error.what()).find(words) != std::string::npos;
    }
    return false;
}

// Reserved huge pages need the tracker `compare`. Errors name any other.
static void trackers_and_pages(const std::string& name) {
    using enum tcasm::tracker;
    if (std::getenv("TCASM_TRACKER") == nullptr && std::getenv("TCASM_HUGE_PAGES") == nullptr) {
        const auto reserved = tcasm::huge_pages::reserved;
        const auto names = [&](const char* tracker, tcasm::tracker kind) {
            return refused(tracker, name, tcasm::options().huge_pages(reserved).tracker(kind));
        };
        CHECK(names("cow", cow) && names("uffd-async", uffd_async) && !names("compare", compare));
    }
    tcasm::options settings;
    settings.tracker(compare).huge_pages(tcasm::huge_pages::off).shared_backing(false);
    tcasm::producer run(name, 1 << 20, settings);
    const auto u = run.add_field<double>("u", {4});
    u(0) = 1.0;
    publish(run, 1);
    CHECK(tcasm::observer(name).latest().array<double>("u")(0) == 1.0);
}

// Nothing is shared, although nearly all of the region is not written for a while.
static void memory_of_its_own(const std::string& name) {
    tcasm::producer run(name, 4 << 20, tcasm::options().shared_backing(false));
    const auto still = run.add_field<double>("still", {1 << 18});
    const auto u = run.add_field<double>("u", {4});
    std::ranges::fill(still.span(), 1.0);
    for (unsigned step = 1; step <= 40; ++step) {
        u(0) = step;
        publish(run, step);
        usleep(2000);
    }
    CHECK(run.stats().shared_bytes == 0);
}

static void options_of_regions(const std::string& name) {
    room_for_appointed_steps(name + "-reserve");
    CHECK(std::isnan(left_out(name + "-checked", true)));
    CHECK(!std::isnan(left_out(name + "-unchecked", false)));
    threads_that_copy(name + "-threads");
    trackers_and_pages(name + "-trackers");
    memory_of_its_own(name + "-own");
}

// The fields of two ranks, one behind the other: rank r has r + 2 numbers, and three rows.
static void check_concatenated(const tcasm::group_version& version) {
    CHECK((version.read_concatenated<int>("n") == std::vector<int>{0, 1, 100, 101, 102}));
    CHECK((version.read_concatenated<int>("n", {1}, {2}) == std::vector<int>{1, 100}));
    const auto layout = version.concatenated_layout("u");
    CHECK(layout.rank == 2 && layout.shape[0] == 6 && layout.shape[1] == 2);
    CHECK(layout.dtype == TCASM_F32 && layout.data == nullptr);
    const auto rows = version.read_concatenated<float>("u");
    const auto columns = version.read_concatenated<float>("u", tcasm::order::fortran);
    CHECK(rows.size() == 12 && columns.size() == 12);
    for (std::size_t row = 0; row < 6; ++row) {
        for (std::size_t j = 0; j < 2; ++j) {
            const std::size_t rank = row / 3;
            CHECK(rows[2 * row + j] == static_cast<float>(10 * (row % 3) + j + 2 * rank));
            CHECK(columns[6 * j + row] == rows[2 * row + j]);
        }
    }
    const auto part = version.read_concatenated<float>("u", {2, 0}, {2, 1});
    CHECK((part == std::vector<float>{20.0f, 2.0f}));
    CHECK(thrown([&] { (void)version.read_concatenated<double>("u"); }) ==
          tcasm::status_code::invalid_argument);
    CHECK(thrown([&] { (void)version.concatenated_layout("absent"); }) ==
          tcasm::status_code::not_found);
}

// Steps 7 and 8 exist, and 7 was agreed: a region like that of an agent says so.
static void check_agreed(const std::string& name, const tcasm::group_observer& group) {
    CHECK(group.latest().step() == 8);
    CHECK(thrown([&] { (void)group.agreed(); }) == tcasm::status_code::region_not_found);
    const tcasm::attrs facts{
        {"group", name}, {"run", "run 1"}, {"ranks", 2}, {"agents", 1}, {"newest", 8}};
    tcasm::producer agent(name + ".group", 1 << 20, tcasm::options().attrs(facts));
    CHECK(!group.try_agreed());
    publish(agent, 7);
    const auto agreed = group.agreed();
    CHECK(agreed.step() == 7 && agreed.run() == "run 1" && agreed.members().size() == 2);
    CHECK(agreed.member(1).array<float>("u")(2, 1) == 23.0f);
    CHECK(group.try_agreed()->step() == 7);
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
        const auto n = run.add_field<int>("n", {r + 2});
        for (std::size_t i = 0; i < n.size(); ++i) {
            n(i) = static_cast<int>(100 * r + i);
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
    CHECK(version.run() == "run 1");
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
    check_concatenated(version);
    for (auto& run : ranks) {
        publish(run, 8);
    }
    check_agreed(name, group);
    CHECK((group.ends() == tcasm::group_ends{2, 0, 0}));
    ranks[0].close();
    CHECK((group.ends() == tcasm::group_ends{2, 1, 0}));
}

int main(int, char** arguments) {
    const std::string name = arguments[1];
    views_of_arrays(name + "-views");
    structures_and_meshes(name + "-structures");
    every_version(name + "-every");
    changed_bytes(name + "-changes");
    pointers_of_the_producer(name + "-pointers");
    counters(name + "-counters");
    observers_of_a_region(name + "-observers");
    lengths_and_scratch(name + "-scratch");
    options_of_regions(name + "-options");
    global_arrays(name + "-group");
}
