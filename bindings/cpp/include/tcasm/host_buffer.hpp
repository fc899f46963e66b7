// Host buffers: one buffer for all processes of a job on a host, at the same address in each.

#ifndef TCASM_CPP_HOST_BUFFER_HPP
#define TCASM_CPP_HOST_BUFFER_HPP

#include "error.hpp"
#include "handle.hpp"
#include "options.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tcasm {

/// The options of host buffers: `tcasm::host_buffer_options().section("table", 1 << 20)`.
class host_buffer_options {
public:
    host_buffer_options() {
        tcasm_host_buffer_options* raw = nullptr;
        detail::check(tcasm_host_buffer_options_new(&raw));
        handle_ = decltype(handle_)(raw);
    }

    /// Adds a section. `flags` has TCASM_SECTION_LOCKED and the like, added up.
    host_buffer_options& section(const std::string& name, std::size_t bytes,
                                 std::uint32_t flags = 0) {
        detail::check(tcasm_host_buffer_options_add(get(), name.c_str(), bytes, flags));
        return *this;
    }
    /// Adds a section for the regions of ranks, each with at most `bytes` bytes of fields.
    host_buffer_options& regions(const std::string& name, std::uint32_t ranks, std::size_t bytes) {
        detail::check(tcasm_host_buffer_options_add_regions(get(), name.c_str(), ranks, bytes));
        return *this;
    }
    /// Places a section on one node of memory, or on several in turn.
    host_buffer_options& nodes(const std::string& name, const std::vector<std::uint32_t>& nodes) {
        detail::check(tcasm_host_buffer_options_set_nodes(get(), name.c_str(), nodes.data(),
                                                          nodes.size()));
        return *this;
    }
    /// Lets so many processes of this host take part: all get the buffer, or none does.
    host_buffer_options& processes(std::size_t count) {
        detail::check(tcasm_host_buffer_options_set_processes(get(), count));
        return *this;
    }
    host_buffer_options& address(std::size_t address) {
        detail::check(tcasm_host_buffer_options_set_address(get(), address));
        return *this;
    }
    /// Agrees with other hosts through `tcasm hostbuffer serve`. `secret` is a file.
    host_buffer_options& rendezvous(const std::string& address, const std::string& secret) {
        detail::check(
            tcasm_host_buffer_options_set_rendezvous(get(), address.c_str(), secret.c_str()));
        return *this;
    }
    /// Agrees with other hosts by a function of the program, which must not throw. See tcasm.h.
    host_buffer_options& all_gather(tcasm_all_gather function, void* context, std::uint32_t hosts,
                                    std::size_t processes, bool leads) {
        detail::check(tcasm_host_buffer_options_set_all_gather(get(), function, context, hosts,
                                                               processes, leads));
        return *this;
    }

    [[nodiscard]] tcasm_host_buffer_options* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_host_buffer_options, tcasm_host_buffer_options_free> handle_;
};

/// A buffer that all processes of a job share. Its end unmaps it here.
class host_buffer {
public:
    /// Creates the buffer of `job`, or attaches to it.
    host_buffer(const std::string& job, const host_buffer_options& options,
                seconds timeout = seconds(60.0)) {
        tcasm_host_buffer* raw = nullptr;
        detail::check(
            tcasm_host_buffer_create(job.c_str(), options.get(), timeout.count(), &raw));
        handle_ = decltype(handle_)(raw);
    }

    [[nodiscard]] std::size_t address() const {
        std::size_t address = 0;
        detail::check(tcasm_host_buffer_info(get(), &address, nullptr, nullptr));
        return address;
    }
    /// Returns true if this process created the buffer, and false if it attached to it.
    [[nodiscard]] bool created() const {
        int created = 0;
        detail::check(tcasm_host_buffer_info(get(), nullptr, nullptr, &created));
        return created == 1;
    }
    /// Returns a section as values. Nothing orders the accesses of processes. A store to a sealed
    /// section is a SIGSEGV.
    template <class T>
    [[nodiscard]] std::span<T> section(const std::string& name) const {
        static_assert(std::is_trivially_copyable_v<T>);
        void* data = nullptr;
        std::size_t bytes = 0;
        detail::check(tcasm_section(get(), name.c_str(), &data, &bytes));
        return {static_cast<T*>(data), bytes / sizeof(T)};
    }
    /// Makes a section read-only in all processes, for ever.
    void seal(const std::string& name) const { detail::check(tcasm_seal(get(), name.c_str())); }
    /// Waits until a process has sealed a section, and returns it.
    template <class T>
    [[nodiscard]] std::span<const T> wait_sealed(const std::string& name,
                                                 seconds timeout = forever) const {
        detail::check(tcasm_wait_sealed(get(), name.c_str(), timeout.count()));
        return section<T>(name);
    }
    /// Places the region that is created with these options in the part of `rank`.
    void place(options& options, const std::string& name, std::uint32_t rank) const {
        detail::check(tcasm_options_set_part(options.get(), get(), name.c_str(), rank));
    }

    [[nodiscard]] tcasm_host_buffer* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_host_buffer, tcasm_host_buffer_close> handle_;
};

} // namespace tcasm

#endif
