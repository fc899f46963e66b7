// A run that is checkpointed by `tcasm checkpoint`, looked at, and continued, from the file and from
// the memory that `tcasm keep` holds. Usage: files NAME FOLDER

#include <tcasm.hpp>
#include <tcasm/files.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(bool holds, const char* condition, int line) {
    if (!holds) {
        std::fprintf(stderr, "files.cpp:%d: %s does not hold; last error: %s\n", line, condition,
                     tcasm_last_error());
        std::exit(1);
    }
}

// Returns the status that a call throws. Its text must have some words.
template <class Call>
static tcasm::status_code thrown(const char* words, Call call) {
    try {
        call();
    } catch (const tcasm::error& error) {
        CHECK(std::string(error.what()).find(words) != std::string::npos);
        return error.status();
    }
    return tcasm::status_code::ok;
}

struct pair {
    double a;
    std::int32_t b;
};

static std::string name, folder;

// Runs a command of tcasm with the name of the region.
static pid_t command(const std::string& which, const std::string& arguments) {
    const std::string line = "exec tcasm " + which + " " + name + " " + arguments + " >/dev/null";
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
        _exit(127);
    }
    return child;
}

static void ended_well(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Waits until a child has attached: tcasm info lists the processes of observers.
static void wait_for(pid_t child) {
    const std::string line =
        "tcasm info --json " + name + " | grep -qw " + std::to_string(child);
    int found = 1;
    for (int tries = 0; found != 0 && tries < 300; ++tries) {
        found = std::system(line.c_str());
        usleep(10000);
    }
    CHECK(found == 0);
}

static void a_first_start_is_new_and_is_checkpointed() {
    auto [run, restored] = tcasm::restore_or_begin(name, 1 << 20, {folder});
    CHECK(!restored);
    auto t = run.add_field<double>("t", {4, 6});
    const auto pairs = run.add_structures<pair>("pairs", 2, "pair");
    for (std::size_t i = 0; i < 24; ++i) {
        t.span()[i] = static_cast<double>(i);
    }
    pairs[1].b = 42;
    CHECK(static_cast<bool>(run.publish(7, 0.5)));
    const pid_t child = command("checkpoint", "--last --no-wait --fast '" + folder + "'");
    wait_for(child);
    run.close();
    ended_well(child);
}

static void a_checkpoint_is_a_version() {
    const auto version = tcasm::open_checkpoint(folder);
    CHECK(version.step() == 7 && version.time() == 0.5);
    CHECK(version.fields().size() == 2);
    const auto t = version.array<double>("t");
    CHECK(t.rank() == 2 && t.size() == 24 && t(3, 5) == 23.0);
    const auto part = version.part<double>("t", {1, 2}, {2, 3});
    CHECK(part(0, 0) == 8.0 && part.extent(0) == 2);
    CHECK(version.structures<pair>("pairs")[1].b == 42);
    CHECK(thrown("absent", [&] { (void)version.array<double>("absent"); }) ==
          tcasm::status_code::not_found);
    CHECK(thrown("", [&] { (void)version.array<float>("t"); }) ==
          tcasm::status_code::invalid_argument);
    const auto again = tcasm::open_checkpoint(folder);
    CHECK(thrown("", [&] { (void)version.changes_since(again); }) ==
          tcasm::status_code::invalid_argument);
    CHECK(thrown("/no/such/folder", [] { (void)tcasm::open_checkpoint("/no/such/folder"); }) ==
          tcasm::status_code::other_error);
}

static void a_later_start_has_the_values_of_the_file() {
    auto [run, restored] =
        tcasm::restore_or_begin(name, 1 << 20, {folder}, tcasm::options().versions(4));
    CHECK(restored && restored->step == 7 && restored->time == 0.5);
    CHECK(run.live<double>("t")(3, 5) == 23.0);
    run.add_field<std::int32_t>("more", {3});
    CHECK(static_cast<bool>(run.publish(8, 0.75)));
}

// A producer is killed, and its next start has its last version.
static void a_start_after_a_kill_has_the_memory_that_is_kept() {
    int ready[2];
    CHECK(pipe(ready) == 0);
    const pid_t simulation = fork();
    CHECK(simulation >= 0);
    if (simulation == 0) {
        auto [run, restored] = tcasm::restore_or_begin(name, 1 << 20, {folder});
        CHECK(restored.has_value());
        run.live<double>("t")(0, 0) = -5.0;
        CHECK(static_cast<bool>(run.publish(7, 0.5)));
        const pid_t keeper = command("keep", "--no-wait");
        wait_for(keeper);
        CHECK(write(ready[1], &keeper, sizeof keeper) == sizeof keeper);
        for (;;) {
            pause();
        }
    }
    pid_t keeper = 0;
    close(ready[1]);
    CHECK(read(ready[0], &keeper, sizeof keeper) == sizeof keeper);
    close(ready[0]);
    CHECK(kill(simulation, SIGKILL) == 0 && waitpid(simulation, nullptr, 0) == simulation);
    auto status = tcasm::status_code::region_not_found;
    for (int tries = 0; status != tcasm::status_code::ok && tries < 3000; ++tries) {
        status = thrown("", [] { (void)tcasm::observer::kept(name); });
        usleep(10000);
    }
    CHECK(status == tcasm::status_code::ok);

    // As in docs/cpp.md.
    auto [run, restored] = tcasm::restore_or_begin(name, 1 << 20, {folder});
    auto t = restored ? run.live<double>("t") : run.add_field<double>("t", {4, 6});
    CHECK(restored && restored->step == 7 && t(0, 0) == -5.0);
    run.close();
    kill(keeper, SIGTERM);
}

// A checkpoint has all fields but one, whose memory the program has unmapped.
static void a_lost_field_is_lost_in_the_file() {
    const std::size_t bytes = 1 << 16;
    const std::size_t count = bytes / sizeof(double);
    void* const gone = mmap(reinterpret_cast<void*>(0x300000000000), bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(gone != MAP_FAILED);
    name += "-lost";
    folder += "/lost";
    CHECK(mkdir(folder.c_str(), 0700) == 0);
    tcasm::producer run(name, 4 << 20);
    auto own = run.add_field<double>("own", {count});
    run.adopt("gone", static_cast<double*>(gone), {count});
    CHECK(static_cast<bool>(run.publish(1, 0.1)));
    CHECK(munmap(gone, bytes) == 0);
    own(0) = 3.0;
    CHECK(static_cast<bool>(run.publish(2, 0.2)));
    CHECK(run.lost() == std::vector<std::string>{"gone"});
    const pid_t child = command("checkpoint", "--last --no-wait --fast '" + folder + "'");
    wait_for(child);
    run.close();
    ended_well(child);
    const auto version = tcasm::open_checkpoint(folder);
    CHECK(version.array<double>("own")(0) == 3.0);
    CHECK(thrown("\"gone\" is lost", [&] { (void)version.array<double>("gone"); }) ==
          tcasm::status_code::lost);
}

static void misuse_is_an_exception() {
    CHECK(thrown("/no/such/folder",
                 [] { (void)tcasm::restore_or_begin("x", 1 << 20, {"/no/such/folder"}); }) ==
          tcasm::status_code::other_error);
    CHECK(thrown("", [] { (void)tcasm::restore_or_begin("/", 1 << 20, {folder}); }) ==
          tcasm::status_code::invalid_argument);
}

int main(int argc, char** argv) {
    CHECK(argc == 3);
    name = argv[1];
    folder = argv[2];
    a_first_start_is_new_and_is_checkpointed();
    a_checkpoint_is_a_version();
    a_later_start_has_the_values_of_the_file();
    a_start_after_a_kill_has_the_memory_that_is_kept();
    misuse_is_an_exception();
    a_lost_field_is_lost_in_the_file();
    return 0;
}
