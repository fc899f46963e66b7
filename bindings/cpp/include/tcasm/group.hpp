// Groups: regions of several ranks, of which observers see one step at a time.

#ifndef TCASM_CPP_GROUP_HPP
#define TCASM_CPP_GROUP_HPP

#include "array.hpp"
#include "handle.hpp"
#include "version.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace tcasm {

/// One step of a group, pinned in all of its ranks on this host. Its end lets go of it.
class group_version {
public:
    /// Takes ownership of a handle.
    explicit group_version(tcasm_group_version* raw) : handle_(raw) {
        detail::check(tcasm_group_stamp(get(), &step_, &time_, &ranks_));
    }

    [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
    [[nodiscard]] double time() const noexcept { return time_; }
    /// Returns the number of ranks on all hosts.
    [[nodiscard]] std::uint32_t ranks() const noexcept { return ranks_; }
    /// Returns the name of the run, which may be empty.
    [[nodiscard]] std::string run() const {
        const char* name = nullptr;
        detail::check(tcasm_group_run(get(), &name));
        return name;
    }

    /// Returns the ranks on this host, ascending.
    [[nodiscard]] std::vector<std::uint32_t> members() const {
        std::vector<std::uint32_t> ranks;
        const auto count = detail::fill([&](std::size_t room, std::size_t* all) {
            ranks.resize(room);
            return tcasm_group_ranks(get(), ranks.data(), room, all);
        });
        ranks.resize(count);
        return ranks;
    }
    /// Returns the version of a rank.
    [[nodiscard]] version member(std::uint32_t rank) const {
        tcasm_version* raw = nullptr;
        detail::check(tcasm_group_member(get(), rank, &raw));
        return version(raw);
    }

    /// Describes the global array `name`, of which the ranks have blocks. There is no data.
    [[nodiscard]] tcasm_array global_layout(const std::string& name) const {
        auto array = sized<tcasm_array>();
        detail::check(tcasm_global_of(get(), name.c_str(), &array));
        return array;
    }

    /// Copies a part of a global array, gathered from the blocks of the ranks: the first index and
    /// the number of indices along each axis but that of components. The values come in the order
    /// that is asked for, and components side by side.
    template <element T>
    [[nodiscard]] std::vector<std::remove_const_t<T>>
    read_global(const std::string& name, const std::vector<std::size_t>& first,
                const std::vector<std::size_t>& count, order in = order::c) const {
        return gather<T>(tcasm_global_read, global_layout(name), name, first, count, in);
    }
    /// Copies a whole global array.
    template <element T>
    [[nodiscard]] std::vector<std::remove_const_t<T>> read_global(const std::string& name,
                                                                  order in = order::c) const {
        return gather_all<T>(tcasm_global_read, global_layout(name), name, in);
    }

    /// Describes the fields `name` of all ranks as one array: one behind the other along their
    /// first axis, in the order of ranks. They need no place in a global array, and may have
    /// different lengths. There is no data.
    [[nodiscard]] tcasm_array concatenated_layout(const std::string& name) const {
        auto array = sized<tcasm_array>();
        detail::check(tcasm_concatenated_of(get(), name.c_str(), &array));
        return array;
    }

    /// Copies a part of that array, as `read_global` does.
    template <element T>
    [[nodiscard]] std::vector<std::remove_const_t<T>>
    read_concatenated(const std::string& name, const std::vector<std::size_t>& first,
                      const std::vector<std::size_t>& count, order in = order::c) const {
        return gather<T>(tcasm_concatenated_read, concatenated_layout(name), name, first, count,
                         in);
    }
    /// Copies the fields of all ranks, one behind the other.
    template <element T>
    [[nodiscard]] std::vector<std::remove_const_t<T>>
    read_concatenated(const std::string& name, order in = order::c) const {
        return gather_all<T>(tcasm_concatenated_read, concatenated_layout(name), name, in);
    }

    /// Lets go of the step early.
    void release() { detail::check(handle_.reset()); }
    [[nodiscard]] tcasm_group_version* get() const noexcept { return handle_.get(); }

private:
    /// A function of tcasm.h that copies a part of an array.
    using reader = decltype(&tcasm_global_read);

    template <element T>
    [[nodiscard]] std::vector<std::remove_const_t<T>>
    gather(reader read, const tcasm_array& array, const std::string& name,
           const std::vector<std::size_t>& first, const std::vector<std::size_t>& count,
           order in) const {
        if (array.dtype != dtype_of<T>) {
            detail::raise(status_code::invalid_argument,
                          "array " + name + " has elements of another type");
        }
        if (first.size() != count.size()) {
            detail::raise(status_code::invalid_argument,
                          "a part has as many first indices as numbers of indices");
        }
        std::size_t elements = array.components;
        for (const std::size_t n : count) {
            elements *= n;
        }
        std::vector<std::remove_const_t<T>> values(elements);
        auto* bytes = reinterpret_cast<std::uint8_t*>(values.data());
        detail::check(read(get(), name.c_str(), first.size(), first.data(), count.data(),
                           static_cast<int>(in), bytes, elements * sizeof(T)));
        return values;
    }

    template <element T>
    [[nodiscard]] std::vector<std::remove_const_t<T>>
    gather_all(reader read, const tcasm_array& array, const std::string& name, order in) const {
        const auto axes =
            static_cast<std::size_t>(array.rank) - (array.components > 1 ? 1 : 0);
        const std::vector<std::size_t> count(array.shape, array.shape + axes);
        return gather<T>(read, array, name, std::vector<std::size_t>(axes), count, in);
    }

    detail::handle<tcasm_group_version, tcasm_group_release> handle_;
    std::uint64_t step_ = 0;
    double time_ = 0.0;
    std::uint32_t ranks_ = 0;
};

/// The number of ranks that are attached, and of these the numbers of those that have closed their
/// regions and of those that died before they did.
struct group_ends {
    std::size_t attached;
    std::size_t closed;
    std::size_t lost;

    friend bool operator==(const group_ends&, const group_ends&) = default;
};

/// An attachment to the regions of all ranks of a group on this host.
class group_observer {
public:
    explicit group_observer(const std::string& name) {
        tcasm_group_observer* raw = nullptr;
        detail::check(tcasm_group_attach(name.c_str(), &raw));
        handle_ = decltype(handle_)(raw);
    }

    /// Returns the newest step that all ranks have.
    [[nodiscard]] group_version latest() const {
        tcasm_group_version* raw = nullptr;
        detail::check(tcasm_group_latest(get(), &raw));
        return group_version(raw);
    }
    /// Waits for a step of all ranks that is newer than all that were returned.
    [[nodiscard]] group_version wait_newer(seconds timeout = forever) const {
        tcasm_group_version* raw = nullptr;
        detail::check(tcasm_group_wait_newer(get(), timeout.count(), &raw));
        return group_version(raw);
    }
    /// Waits like `wait_newer`. Returns none if the time is over before.
    [[nodiscard]] std::optional<group_version> try_wait_newer(seconds timeout) const {
        tcasm_group_version* raw = nullptr;
        const int status = tcasm_group_wait_newer(get(), timeout.count(), &raw);
        if (status == TCASM_NOT_READY) {
            return std::nullopt;
        }
        detail::check(status);
        return group_version(raw);
    }
    /// Returns the newest step that all ranks on all hosts have. `tcasm-agent` must run on each.
    [[nodiscard]] group_version agreed() const {
        tcasm_group_version* raw = nullptr;
        detail::check(tcasm_group_agreed(get(), &raw));
        return group_version(raw);
    }
    /// Returns the same, or none if the agents have not agreed on a step yet.
    [[nodiscard]] std::optional<group_version> try_agreed() const {
        tcasm_group_version* raw = nullptr;
        const int status = tcasm_group_agreed(get(), &raw);
        if (status == TCASM_NOT_READY) {
            return std::nullopt;
        }
        detail::check(status);
        return group_version(raw);
    }
    /// Returns how many ranks publish no more.
    [[nodiscard]] group_ends ends() const {
        group_ends found{};
        detail::check(tcasm_group_ends(get(), &found.attached, &found.closed, &found.lost));
        return found;
    }
    /// Returns a step, if all ranks have it.
    [[nodiscard]] group_version at(std::uint64_t step) const {
        tcasm_group_version* raw = nullptr;
        detail::check(tcasm_group_at(get(), step, &raw));
        return group_version(raw);
    }
    /// Returns the steps that all ranks have now.
    [[nodiscard]] std::vector<std::uint64_t> steps() const {
        std::vector<std::uint64_t> steps;
        const auto count = detail::fill([&](std::size_t room, std::size_t* all) {
            steps.resize(room);
            return tcasm_group_steps(get(), steps.data(), room, all);
        });
        steps.resize(count);
        return steps;
    }

    /// Detaches.
    void detach() { detail::check(handle_.reset()); }
    [[nodiscard]] tcasm_group_observer* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_group_observer, tcasm_group_detach> handle_;
};

} // namespace tcasm

#endif
