// Attachments to regions.

#ifndef TCASM_CPP_OBSERVER_HPP
#define TCASM_CPP_OBSERVER_HPP

#include "version.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tcasm {

/// An observer as the producer of its region sees it: its process, its user, and the number of
/// versions that it holds.
struct attachment {
    std::uint64_t pid;
    std::uint64_t uid;
    std::size_t pins;
};

/// An attachment to a region. Its end detaches. Versions that it returned stay. Threads may share
/// it.
class observer {
public:
    /// Attaches to the region `name`, once its producer has started.
    explicit observer(const std::string& name, seconds timeout = seconds(0.0)) {
        tcasm_observer* raw = nullptr;
        detail::check(tcasm_attach(name.c_str(), timeout.count(), &raw));
        handle_ = owner(raw);
    }

    /// Attaches to the last versions of a dead producer, which another process keeps.
    [[nodiscard]] static observer kept(const std::string& name) {
        tcasm_observer* raw = nullptr;
        detail::check(tcasm_attach_kept(name.c_str(), &raw));
        return observer(owner(raw));
    }

    /// Returns the newest version, also after the end of the stream.
    [[nodiscard]] version latest() const { return taken(raw_latest()); }
    /// Returns the newest version, if there is one.
    [[nodiscard]] std::optional<version> try_latest() const { return tried(raw_latest()); }

    /// Waits for a version that is newer than all that were returned. Returns the newest one.
    [[nodiscard]] version wait_newer(seconds timeout = forever) const {
        return taken(raw_newer(timeout));
    }
    /// Waits like `wait_newer`. Returns none if the time is over before.
    [[nodiscard]] std::optional<version> try_wait_newer(seconds timeout) const {
        return tried(raw_newer(timeout));
    }

    /// Waits for a version that is newer than the last one that was returned. Returns the oldest.
    [[nodiscard]] version next(seconds timeout = forever) const {
        return taken(raw_next(timeout));
    }
    /// Waits like `next`. Returns none if the time is over before.
    [[nodiscard]] std::optional<version> try_next(seconds timeout) const {
        return tried(raw_next(timeout));
    }

    /// Makes `next` and loops take every version from now on, beginning with the oldest that exists.
    /// The producer reclaims none that was not taken, so these fill its bounds.
    void every_version(bool on = true) const {
        detail::check(tcasm_every_version(get(), on ? 1 : 0));
    }
    /// Returns the first and the last numbers of the ranges that were left out since
    /// `every_version`.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> missed() const {
        std::vector<std::uint64_t> firsts;
        std::vector<std::uint64_t> lasts;
        const auto count = detail::fill([&](std::size_t room, std::size_t* all) {
            firsts.resize(room);
            lasts.resize(room);
            return tcasm_missed(get(), firsts.data(), lasts.data(), room, all);
        });
        std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
        for (std::size_t i = 0; i < count; ++i) {
            ranges.emplace_back(firsts[i], lasts[i]);
        }
        return ranges;
    }

    /// Returns the version of a number, if it is available.
    [[nodiscard]] version at(std::uint64_t number) const {
        found result;
        result.status = tcasm_version_at(get(), number, &result.raw);
        return taken(result);
    }
    /// Returns the numbers of the versions that are available.
    [[nodiscard]] std::vector<std::uint64_t> available() const {
        std::vector<std::uint64_t> numbers;
        const auto count = detail::fill([&](std::size_t room, std::size_t* all) {
            numbers.resize(room);
            return tcasm_available(get(), numbers.data(), room, all);
        });
        numbers.resize(count);
        return numbers;
    }

    /// Returns the state of the stream.
    [[nodiscard]] status_code status() const noexcept {
        return static_cast<status_code>(tcasm_stream_status(get()));
    }
    /// Returns a descriptor for poll, which belongs to the observer.
    [[nodiscard]] int descriptor() const {
        int descriptor = -1;
        detail::check(tcasm_descriptor(get(), &descriptor));
        return descriptor;
    }
    /// Makes the descriptor wait for the next version.
    void acknowledge() const { detail::check(tcasm_acknowledge(get())); }
    void set_copy_budget(std::uint64_t bytes) const {
        detail::check(tcasm_set_copy_budget(get(), bytes));
    }
    [[nodiscard]] tcasm_info info() const {
        auto facts = sized<tcasm_info>();
        detail::check(tcasm_region_info(get(), &facts));
        return facts;
    }
    [[nodiscard]] std::uint64_t counter(const std::string& name) const {
        std::uint64_t value = 0;
        detail::check(tcasm_counter(get(), name.c_str(), &value));
        return value;
    }
    /// Returns what the mapped versions of this observer take of this process.
    [[nodiscard]] tcasm_view_stats stats() const {
        auto taken = sized<tcasm_view_stats>();
        detail::check(tcasm_observer_stats(get(), &taken));
        return taken;
    }

    /// Returns the observers that are attached to the region, as its producer sees them.
    [[nodiscard]] std::vector<attachment> observers() const {
        std::vector<std::uint64_t> pids;
        std::vector<std::uint64_t> uids;
        std::vector<std::size_t> pins;
        const auto count = detail::fill([&](std::size_t room, std::size_t* all) {
            pids.resize(room);
            uids.resize(room);
            pins.resize(room);
            return tcasm_observers(get(), pids.data(), uids.data(), pins.data(), room, all);
        });
        std::vector<attachment> attached;
        for (std::size_t i = 0; i < count; ++i) {
            attached.push_back({pids[i], uids[i], pins[i]});
        }
        return attached;
    }
    /// Returns the numbers of the versions that the observers of a process hold, ascending.
    [[nodiscard]] std::vector<std::uint64_t> pinned(std::uint64_t pid) const {
        std::vector<std::uint64_t> numbers;
        const auto count = detail::fill([&](std::size_t room, std::size_t* all) {
            numbers.resize(room);
            return tcasm_pinned(get(), pid, numbers.data(), room, all);
        });
        numbers.resize(count);
        return numbers;
    }

    /// Goes through the versions, oldest first, until the end of the stream. It holds each until it
    /// has the next one.
    class iterator {
    public:
        using value_type = version;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() noexcept = default;
        explicit iterator(const observer& from) : from_(&from) { ++*this; }

        const version& operator*() const noexcept { return *current_; }
        const version* operator->() const noexcept { return &*current_; }
        iterator& operator++() {
            current_ = from_->until_end();
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
            return !it.current_.has_value();
        }

    private:
        const observer* from_ = nullptr;
        std::optional<version> current_;
    };

    /// Begins a loop over versions: `for (const auto& version : observer)`. Throws `producer_lost`
    /// if the producer dies.
    [[nodiscard]] iterator begin() const { return iterator(*this); }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    /// Detaches.
    void detach() { detail::check(handle_.reset()); }
    [[nodiscard]] tcasm_observer* get() const noexcept { return handle_.get(); }

private:
    using owner = detail::handle<tcasm_observer, tcasm_detach>;

    struct found {
        int status = TCASM_OK;
        tcasm_version* raw = nullptr;
    };

    explicit observer(owner handle) noexcept : handle_(std::move(handle)) {}

    [[nodiscard]] found raw_latest() const {
        found result;
        result.status = tcasm_latest(get(), &result.raw);
        return result;
    }
    [[nodiscard]] found raw_newer(seconds timeout) const {
        found result;
        result.status = tcasm_wait_newer(get(), timeout.count(), &result.raw);
        return result;
    }
    [[nodiscard]] found raw_next(seconds timeout) const {
        found result;
        result.status = tcasm_next(get(), timeout.count(), &result.raw);
        return result;
    }

    static version taken(const found& result) {
        detail::check(result.status);
        return version(result.raw);
    }
    static std::optional<version> tried(const found& result) {
        if (result.status == TCASM_NOT_READY) {
            return std::nullopt;
        }
        return taken(result);
    }
    [[nodiscard]] std::optional<version> until_end() const {
        const found result = raw_next(forever);
        if (result.status == TCASM_END_OF_STREAM) {
            return std::nullopt;
        }
        return taken(result);
    }

    owner handle_;
};

} // namespace tcasm

#endif
