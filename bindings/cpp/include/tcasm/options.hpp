// The options of regions and fields.

#ifndef TCASM_CPP_OPTIONS_HPP
#define TCASM_CPP_OPTIONS_HPP

#include "array.hpp"
#include "attrs.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tcasm {

/// When densely written fields are copied.
enum class capture : int {
    automatic = TCASM_CAPTURE_AUTO,
    in_publish = TCASM_CAPTURE_INLINE,
    deferred = TCASM_CAPTURE_DEFERRED,
};

/// How stores to fields are noticed. `tcasm doctor` says which of these work on a machine.
enum class tracker : int {
    uffd_async = TCASM_TRACKER_UFFD_ASYNC,
    cow = TCASM_TRACKER_COW,
    compare = TCASM_TRACKER_COMPARE,
};

/// The huge pages that fields may consist of: none, the kernel's own, or those that an
/// administrator has reserved.
enum class huge_pages : int {
    off = TCASM_HUGE_PAGES_OFF,
    transparent = TCASM_HUGE_PAGES_TRANSPARENT,
    reserved = TCASM_HUGE_PAGES_RESERVED,
};

/// The options of regions: `tcasm::options().versions(4).history(2)`. tcasm.h says what they mean.
class options {
public:
    options() {
        tcasm_options* raw = nullptr;
        detail::check(tcasm_options_new(&raw));
        handle_ = decltype(handle_)(raw);
    }

    options& versions(std::int64_t n) { return set(TCASM_VERSIONS, n); }
    options& history(std::int64_t n) { return set(TCASM_HISTORY, n); }
    options& first_version(std::int64_t n) { return set(TCASM_FIRST_VERSION, n); }
    options& memory(std::int64_t bytes) { return set(TCASM_MEMORY, bytes); }
    options& capture(tcasm::capture mode) {
        return set(TCASM_CAPTURE, static_cast<std::int64_t>(mode));
    }
    options& wait_for_capture(bool on = true) { return set(TCASM_WAIT_FOR_CAPTURE, on); }
    options& no_kernel_writes(bool on = true) { return set(TCASM_NO_KERNEL_WRITES, on); }
    options& max_observers(std::int64_t n) { return set(TCASM_MAX_OBSERVERS, n); }
    options& base(std::int64_t address) { return set(TCASM_BASE, address); }
    options& copiers(std::int64_t n) { return set(TCASM_COPIERS, n); }
    options& allow_everyone(bool on = true) { return set(TCASM_ALLOW_EVERYONE, on); }
    options& tracker(tcasm::tracker kind) {
        return set(TCASM_TRACKER, static_cast<std::int64_t>(kind));
    }
    /// Memory that is not written for a while exists once, for the program and the versions.
    options& shared_backing(bool on) { return set(TCASM_SHARED_BACKING, on); }
    options& huge_pages(tcasm::huge_pages pages) {
        return set(TCASM_HUGE_PAGES, static_cast<std::int64_t>(pages));
    }
    /// The nice value of the threads that copy.
    options& copier_nice(std::int64_t nice) { return set(TCASM_COPIER_NICE, nice); }
    /// The processors that the threads that copy run on.
    options& copier_affinity(const std::vector<std::size_t>& processors) {
        detail::check(
            tcasm_options_set_copier_affinity(get(), processors.data(), processors.size()));
        return *this;
    }
    /// Stores to a published field that is handed over are a SIGSEGV, and elements that a rewriting
    /// leaves out are bytes of 0xFF.
    options& check_hand_over(bool on = true) { return set(TCASM_CHECK_HAND_OVER, on); }
    /// Steps that are multiples of this have room for two versions, which others do not use. If the
    /// last capture still runs then, publish waits for its end.
    options& reserve_for_every(std::int64_t steps) { return set(TCASM_RESERVE_FOR_EVERY, steps); }

    /// Lets these users observe, by their numbers, besides the user of the producer and root.
    options& allow_users(const std::vector<std::uint32_t>& users) {
        detail::check(tcasm_options_allow_users(get(), users.data(), users.size()));
        return *this;
    }

    /// Does the same with what the launcher of this process tells: see docs/jobs.md.
    options& group_from_env() {
        detail::check(tcasm_options_set_group_from_env(get()));
        return *this;
    }

    /// Sets any option by its number in tcasm.h.
    options& set(int option, std::int64_t value) {
        detail::check(tcasm_options_set(get(), option, value));
        return *this;
    }
    options& attrs(const tcasm::attrs& list) {
        detail::check(tcasm_options_set_attrs(get(), list.get()));
        return *this;
    }
    /// Makes the region that of one rank of a group. `run` names the run, in all ranks alike.
    options& group(std::uint32_t rank, std::uint32_t ranks, std::uint32_t local_ranks,
                   const std::string& run = {}) {
        const char* name = run.empty() ? nullptr : run.c_str();
        detail::check(tcasm_options_set_group(get(), rank, ranks, local_ranks, name));
        return *this;
    }

    [[nodiscard]] tcasm_options* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_options, tcasm_options_free> handle_;
};

/// The options of fields: `tcasm::field_options().unit("K").ghosts({{1, 1}, {1, 1}})`.
class field_options {
public:
    field_options() {
        tcasm_field_options* raw = nullptr;
        detail::check(tcasm_field_options_new(&raw));
        handle_ = decltype(handle_)(raw);
    }

    field_options& order(tcasm::order order) {
        return set(TCASM_FIELD_ORDER, static_cast<std::int64_t>(order));
    }
    field_options& centring(tcasm::centring place) {
        return set(TCASM_FIELD_CENTRING, static_cast<std::int64_t>(place));
    }
    /// The last dimension of the shape is the components.
    field_options& vector(bool on = true) { return set(TCASM_FIELD_VECTOR, on); }
    /// The extent of the slowest dimension may change.
    field_options& variable(bool on = true) { return set(TCASM_FIELD_VARIABLE, on); }
    /// The field is rewritten whole before each publish, and published without a copy.
    field_options& handed_over(bool on = true) { return set(TCASM_FIELD_HANDED_OVER, on); }
    field_options& in_checkpoints(bool on) { return set(TCASM_FIELD_IN_CHECKPOINTS, on); }
    field_options& unit(const std::string& text) { return set(TCASM_FIELD_UNIT, text); }
    /// The named mesh that the field is on.
    field_options& on(const std::string& mesh) { return set(TCASM_FIELD_MESH, mesh); }
    field_options& quantity(const std::string& text) { return set(TCASM_FIELD_QUANTITY, text); }

    /// The ghost layers of each dimension: those before and those after the interior.
    field_options& ghosts(const std::vector<std::pair<std::size_t, std::size_t>>& layers) {
        std::vector<std::size_t> before;
        std::vector<std::size_t> after;
        for (const auto& [b, a] : layers) {
            before.push_back(b);
            after.push_back(a);
        }
        detail::check(tcasm_field_options_set_ghosts(get(), layers.size(), before.data(),
                                                     after.data()));
        return *this;
    }
    /// A uniform mesh of the field itself: origin and spacing along x, y and z.
    field_options& uniform(const std::array<double, 3>& origin,
                           const std::array<double, 3>& spacing) {
        detail::check(tcasm_field_options_set_uniform(get(), origin.data(), spacing.data()));
        return *this;
    }
    /// Makes the field a block of a global array of a group: the extents of that, and the index
    /// there of the first value of the block that is no ghost.
    field_options& global(const std::vector<std::size_t>& shape,
                          const std::vector<std::size_t>& offset) {
        if (shape.size() != offset.size()) {
            detail::raise(status_code::invalid_argument,
                          "the shape and the offset of a global array have the same rank");
        }
        detail::check(tcasm_field_options_set_global(get(), shape.size(), shape.data(),
                                                     offset.data()));
        return *this;
    }
    field_options& attrs(const tcasm::attrs& list) {
        detail::check(tcasm_field_options_set_attrs(get(), list.get()));
        return *this;
    }
    /// Sets any option by its number in tcasm.h.
    field_options& set(int option, std::int64_t value) {
        detail::check(tcasm_field_options_set(get(), option, value));
        return *this;
    }
    field_options& set(int option, const std::string& value) {
        detail::check(tcasm_field_options_set_text(get(), option, value.c_str()));
        return *this;
    }

    [[nodiscard]] tcasm_field_options* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_field_options, tcasm_field_options_free> handle_;
};

} // namespace tcasm

#endif
