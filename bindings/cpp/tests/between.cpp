// Transfers, host buffers and ranks in C++, each with a forked process at the other end.

#include <tcasm.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void check(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "between: %s; last error: %s\n", what, tcasm_last_error());
        std::exit(1);
    }
}

template <class Part>
void apart(Part part) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            part();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "between: %s\n", error.what());
            _exit(1);
        }
        _exit(0);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "the other process failed");
}

template <class Call>
bool fails(tcasm::status_code status, Call call) {
    try {
        call();
    } catch (const tcasm::error& error) {
        return error.status() == status;
    }
    return false;
}

void transfers(const std::string& name) {
    const tcasm::owner owner;
    const auto address = owner.address();
    std::vector<double> grid(6 * 10), target(4);
    std::iota(grid.begin(), grid.end(), 0.0);
    // Columns 3 and 4.
    const auto columns = tcasm::pieces(&grid[3], 8, {6, 2}, {80, 8});
    check(columns.size() == 6 && columns[1].bytes == 16, "pieces of an array");
    const auto read = owner.declare(columns);
    const auto write = owner.declare({tcasm::piece(target)}, tcasm::access::write);
    const tcasm::shared_memory memory(8 * 1000);
    memory.span<double>()[999] = 4.5;
    const auto shared = owner.declare(memory);
    const tcasm::gathered versions(owner, name, columns);
    const auto newest = versions.cookie();
    apart([&] {
        const tcasm::peer peer(address);
        std::vector<double> first(3), second(9);
        for (const auto how : {tcasm::transport::best, tcasm::transport::direct,
                               tcasm::transport::ring}) {
            peer.use(how);
            check(peer.read(read, 0, {tcasm::piece(first), tcasm::piece(second)}) == 0, "live");
            check(first[2] == 13.0 && second[8] == 54.0, "the values of the columns");
        }
        check(peer.read(newest, 0, {tcasm::piece(first)}) == 1, "a version");
        peer.use(tcasm::transport::best);
        check(peer.hold(newest, 16, 80) == 80, "the number of bytes that are held");
        check(peer.read_held(0, tcasm::piece(first)) == 1 && first[0] == 13.0, "what is held");
        check(fails(tcasm::status_code::invalid_argument,
                    [&] { (void)peer.read(newest, 0, {tcasm::piece(first)}); }),
              "a connection that holds a part");
        peer.let_go();
    });
    grid[3] = -1.0;
    check(versions.publish(1, 0.1), "nothing was published");
    apart([&] {
        const tcasm::peer peer(address);
        std::vector<double> first(3), last(2, 9.0);
        check(peer.read(newest, 0, {tcasm::piece(first)}) == 2 && first[0] == -1.0, "version 2");
        peer.write(write, 8, {tcasm::piece(last)});
        check(peer.map(shared).part<double>()[999] == 4.5, "the mapped value");
        check(fails(tcasm::status_code::refused, [&] { (void)peer.map(read); }), "no file to map");
        check(peer.describe(shared).bytes == 8000, "the description");
    });
    check(target == std::vector<double>{0.0, 9.0, 9.0, 0.0}, "the written values");
    check(owner.revoke(read) && owner.revoke(write), "the revocation");
}

void host_buffers(const std::string& name) {
    int ready[2], go[2];
    char byte = 0;
    check(pipe(ready) == 0 && pipe(go) == 0, "pipes");
    const auto options = [] {
        return std::move(tcasm::host_buffer_options()
                             .section("table", 1 << 16)
                             .regions("ranks", 2, 1 << 20)
                             .nodes("table", {0}));
    };
    const pid_t child = fork();
    if (child == 0) {
        try {
            check(read(go[0], &byte, 1) == 1, "the pipe");
            const tcasm::host_buffer buffer(name, options());
            check(!buffer.created(), "it was created before");
            check(fails(tcasm::status_code::not_ready, [&] {
                      (void)buffer.wait_sealed<long*>("table", tcasm::seconds(0.01));
                  }),
                  "nobody has sealed it");
            check(write(ready[1], "x", 1) == 1, "the pipe");
            // A pointer of the other process.
            check(*buffer.wait_sealed<long*>("table")[0] == 42, "the value behind the pointer");
        } catch (const std::exception& error) {
            std::fprintf(stderr, "between: %s\n", error.what());
            _exit(1);
        }
        _exit(0);
    }
    const tcasm::host_buffer buffer(name, options());
    check(buffer.created() && buffer.address() != 0, "the facts about the buffer");
    auto numbers = buffer.section<long>("table");
    numbers[77] = 42;
    buffer.section<long*>("table")[0] = &numbers[77];
    check(write(go[1], "x", 1) == 1 && read(ready[0], &byte, 1) == 1, "the pipes");
    buffer.seal("table");
    int status = 0;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "the other process failed");
    tcasm::options in_part;
    buffer.place(in_part, "ranks", 1);
    tcasm::producer rank(name, 1 << 20, in_part);
    check(fails(tcasm::status_code::not_found, [&] { (void)buffer.section<int>("absent"); }),
          "a section that is not there");
}

// A rank that is killed is lost, and one that ends has closed its region.
void ends_of_ranks(const std::string& name) {
    const auto rank = [&](std::uint32_t number) {
        tcasm::producer run(name, 1 << 20, tcasm::options().group(number, 2, 2, "run 1"));
        check(static_cast<bool>(run.publish(1, 0.0)), "nothing was published");
        return run;
    };
    int ready[2];
    char byte = 0;
    check(pipe(ready) == 0, "a pipe");
    const pid_t child = fork();
    if (child == 0) {
        try {
            const auto run = rank(1);
            check(write(ready[1], "x", 1) == 1, "the pipe");
            for (;;) {
                pause();
            }
        } catch (const std::exception& error) {
            std::fprintf(stderr, "between: %s\n", error.what());
            _exit(1);
        }
    }
    close(ready[1]);
    auto own = rank(0);
    check(read(ready[0], &byte, 1) == 1, "the other process failed");
    close(ready[0]);
    const tcasm::group_observer group(name);
    check(group.wait_newer(tcasm::seconds(10.0)).run() == "run 1", "the run");
    check(group.ends() == tcasm::group_ends{2, 0, 0}, "two ranks that publish");
    check(kill(child, SIGKILL) == 0 && waitpid(child, nullptr, 0) == child, "the other process");
    check(group.ends() == tcasm::group_ends{2, 0, 1}, "a rank that was killed");
    check(fails(tcasm::status_code::producer_lost,
                [&] { (void)group.wait_newer(tcasm::seconds(10.0)); }),
          "a step that a killed rank does not have");
    own.close();
    check(group.ends() == tcasm::group_ends{2, 1, 1}, "a rank that has ended");
}

} // namespace

int main(int argc, char** argv) {
    check(argc == 2, "usage: between NAME");
    try {
        transfers(argv[1]);
        host_buffers(argv[1]);
        ends_of_ranks(argv[1] + std::string("-ranks"));
    } catch (const tcasm::error& error) {
        std::fprintf(stderr, "between: %s\n", error.what());
        return 1;
    }
    return 0;
}
