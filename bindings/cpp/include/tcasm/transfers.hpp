// Memory that other processes read and write by cookie.

#ifndef TCASM_CPP_TRANSFERS_HPP
#define TCASM_CPP_TRANSFERS_HPP

#include "error.hpp"
#include "handle.hpp"
#include "version.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tcasm {

/// Stands for declared memory, and is the right to use it: 16 bytes, to be sent in any way.
using cookie = tcasm_cookie;
/// A piece of memory.
using segment = tcasm_segment;

/// What peers may do.
enum class access : int { read = TCASM_READ, write = TCASM_WRITE, read_write = TCASM_READ_WRITE };

/// How bytes are transferred.
enum class transport : int {
    best = TCASM_TRANSPORT_BEST,
    direct = TCASM_TRANSPORT_DIRECT,
    mapped = TCASM_TRANSPORT_MAPPED,
    ring = TCASM_TRANSPORT_RING,
};

/// Returns the piece of memory of a span, array or vector of numbers.
template <class Range>
[[nodiscard]] segment piece(Range&& values) {
    const std::span all(values);
    using value = typename decltype(all)::value_type;
    static_assert(std::is_trivially_copyable_v<value>);
    return {const_cast<void*>(static_cast<const void*>(all.data())), all.size_bytes()};
}

/// Returns the pieces of a part of an array, in the order of its indices. Strides are in bytes.
[[nodiscard]] inline std::vector<segment> pieces(void* data, std::size_t element,
                                                 const std::vector<std::size_t>& shape,
                                                 const std::vector<std::int64_t>& strides) {
    if (shape.size() != strides.size()) {
        throw error(status_code::invalid_argument, "shape and strides differ in length");
    }
    std::size_t count = 0;
    const auto get = [&](segment* room, std::size_t many) {
        detail::check(tcasm_array_segments(data, element, shape.size(), shape.data(),
                                           strides.data(), room, many, &count));
    };
    get(nullptr, 0);
    std::vector<segment> found(count);
    get(found.data(), found.size());
    return found;
}

/// Memory that this process and its peers share. It is zeros at first.
class shared_memory {
public:
    explicit shared_memory(std::size_t bytes) : bytes_(bytes) {
        tcasm_shared_memory* raw = nullptr;
        detail::check(tcasm_shared_memory_new(bytes, &raw, &data_));
        handle_ = decltype(handle_)(raw);
    }

    /// Returns the memory as values, as many as fit. Nothing orders the accesses of processes.
    template <class T>
    [[nodiscard]] std::span<T> span() const noexcept {
        static_assert(std::is_trivially_copyable_v<T>);
        return {static_cast<T*>(data_), bytes_ / sizeof(T)};
    }
    [[nodiscard]] tcasm_shared_memory* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_shared_memory, tcasm_shared_memory_free> handle_;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Declares memory of this process, and serves peers from a thread of its own. Its end does not
/// wait for peers that are copying: revoke the cookies before.
class owner {
public:
    /// Serves peers of this user, or of all users, who still need a cookie.
    explicit owner(bool everyone = false) {
        tcasm_owner* raw = nullptr;
        detail::check(tcasm_owner_new(everyone, &raw));
        handle_ = decltype(handle_)(raw);
    }

    /// Returns the address at which peers find this owner.
    [[nodiscard]] std::string address() const {
        const char* text = nullptr;
        detail::check(tcasm_owner_address(get(), &text));
        return text;
    }

    /// Declares pieces of live memory. They must stay mapped, and be used for nothing else, until
    /// `revoke` has returned true. With `once` the cookie ends after the first complete use.
    [[nodiscard]] cookie declare(const std::vector<segment>& pieces,
                                 tcasm::access access = access::read, bool once = false) const {
        cookie made;
        detail::check(tcasm_declare(get(), pieces.data(), pieces.size(), static_cast<int>(access),
                                    once, &made));
        return made;
    }
    /// Declares pieces of shared memory, or all of it. Peers can map it.
    [[nodiscard]] cookie declare(const shared_memory& memory,
                                 tcasm::access access = access::read, bool once = false,
                                 const std::vector<segment>& pieces = {}) const {
        cookie made;
        detail::check(tcasm_declare_shared(get(), memory.get(), pieces.data(), pieces.size(),
                                           static_cast<int>(access), once, &made));
        return made;
    }
    /// Declares a field of a version, which stays pinned until the cookie is revoked.
    [[nodiscard]] cookie declare(const version& version, const std::string& field) const {
        cookie made;
        detail::check(tcasm_declare_field(get(), version.get(), field.c_str(), &made));
        return made;
    }
    /// Makes a cookie of a field stand for a newer version.
    void set_version(const cookie& cookie, const version& version, const std::string& field) const {
        detail::check(tcasm_set_declared_field(get(), &cookie, version.get(), field.c_str()));
    }
    /// Ends a cookie. Returns false if a peer still uses the memory: leave it alone, and call this
    /// again.
    [[nodiscard]] bool revoke(const cookie& cookie, seconds timeout = seconds(10.0)) const {
        const int status = tcasm_revoke(get(), &cookie, timeout.count());
        if (status == TCASM_NOT_READY) {
            return false;
        }
        detail::check(status);
        return true;
    }

    [[nodiscard]] tcasm_owner* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_owner, tcasm_owner_free> handle_;
};

/// Declared memory of an owner, mapped here for reading.
class mapped {
public:
    /// Takes ownership of a handle.
    explicit mapped(tcasm_mapped* raw) : handle_(raw) {
        std::size_t count = 0;
        detail::check(tcasm_mapped_segments(raw, nullptr, 0, &count));
        parts_.resize(count);
        detail::check(tcasm_mapped_segments(raw, parts_.data(), count, &count));
    }

    /// Returns the number of pieces.
    [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }
    /// Returns a piece as values. The owner can write them at any time.
    template <class T>
    [[nodiscard]] std::span<const T> part(std::size_t i = 0) const {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto& found = parts_.at(i);
        if (reinterpret_cast<std::uintptr_t>(found.data) % alignof(T) != 0) {
            throw error(status_code::invalid_argument, "the piece is not aligned for this type");
        }
        return {static_cast<const T*>(found.data), found.bytes / sizeof(T)};
    }

private:
    detail::handle<tcasm_mapped, tcasm_unmap_declared> handle_;
    std::vector<segment> parts_;
};

/// A connection to an owner. Threads may share it: calls wait for each other.
class peer {
public:
    explicit peer(const std::string& address) {
        tcasm_peer* raw = nullptr;
        detail::check(tcasm_connect(address.c_str(), &raw));
        handle_ = decltype(handle_)(raw);
    }

    [[nodiscard]] tcasm_declaration describe(const cookie& cookie) const {
        auto found = sized<tcasm_declaration>();
        detail::check(tcasm_describe(get(), &cookie, &found));
        return found;
    }
    /// Reads declared bytes from byte `offset` on into pieces, which must not overlap. Returns the
    /// version that they are of, or 0 for live memory: then they can be torn.
    std::uint64_t read(const cookie& cookie, std::uint64_t offset,
                       const std::vector<segment>& to) const {
        std::uint64_t version = 0;
        detail::check(tcasm_read_vectored(get(), &cookie, offset, to.data(), to.size(), &version));
        return version;
    }
    /// Writes pieces to declared memory from byte `offset` on.
    void write(const cookie& cookie, std::uint64_t offset, const std::vector<segment>& from) const {
        detail::check(tcasm_write_vectored(get(), &cookie, offset, from.data(), from.size()));
    }
    /// Maps shared memory of the owner, without a copy.
    [[nodiscard]] mapped map(const cookie& cookie) const {
        tcasm_mapped* raw = nullptr;
        detail::check(tcasm_map_declared(get(), &cookie, &raw));
        return mapped(raw);
    }
    /// Holds a part of a declaration, so that `read_held` needs one copy and no message. Returns how
    /// many bytes are held. Until `let_go` the connection does nothing else.
    std::uint64_t hold(const cookie& cookie, std::uint64_t offset, std::uint64_t bytes) const {
        std::uint64_t held = 0;
        detail::check(tcasm_hold(get(), &cookie, offset, bytes, &held));
        return held;
    }
    /// Reads what is held, from byte `offset` of it on. Returns the version, or 0.
    std::uint64_t read_held(std::uint64_t offset, const segment& to) const {
        std::uint64_t version = 0;
        detail::check(tcasm_read_held(get(), offset, static_cast<std::uint8_t*>(to.data), to.bytes,
                                      &version));
        return version;
    }
    /// Ends what the connection holds, so that the owner can revoke the cookie.
    void let_go() const { detail::check(tcasm_let_go(get())); }
    void use(transport transport) const { set(TCASM_PEER_TRANSPORT, static_cast<int>(transport)); }
    void threads(std::int64_t count) const { set(TCASM_PEER_THREADS, count); }
    /// Sets an option by its number in tcasm.h.
    void set(int option, std::int64_t value) const {
        detail::check(tcasm_peer_set(get(), option, value));
    }

    [[nodiscard]] tcasm_peer* get() const noexcept { return handle_.get(); }

private:
    detail::handle<tcasm_peer, tcasm_disconnect> handle_;
};

/// Memory in pieces that is published as versions.
class gathered {
public:
    /// Creates the region `name`, and publishes the first version. The pieces must stay mapped.
    gathered(const owner& owner, const std::string& name, const std::vector<segment>& pieces) {
        tcasm_gathered* raw = nullptr;
        detail::check(
            tcasm_gathered_new(owner.get(), name.c_str(), pieces.data(), pieces.size(), &raw));
        handle_ = decltype(handle_)(raw);
    }

    /// Publishes the present bytes. Returns false if there is no room: then peers read the version
    /// before.
    bool publish(std::uint64_t step, double time) const {
        const int status = tcasm_gathered_publish(handle_.get(), step, time);
        if (status == TCASM_SKIPPED) {
            return false;
        }
        detail::check(status);
        return true;
    }
    /// Returns the cookie by which peers read the newest version.
    [[nodiscard]] tcasm::cookie cookie() const {
        tcasm::cookie found;
        detail::check(tcasm_gathered_cookie(handle_.get(), &found));
        return found;
    }

private:
    detail::handle<tcasm_gathered, tcasm_gathered_free> handle_;
};

} // namespace tcasm

#endif
