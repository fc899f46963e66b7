// Regions that this process publishes.

#ifndef TCASM_CPP_PRODUCER_HPP
#define TCASM_CPP_PRODUCER_HPP

#include "array.hpp"
#include "mesh.hpp"
#include "options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tcasm {

using shape = std::vector<std::size_t>;

/// The result of a call of publish. It is true if there is a new version.
class receipt {
public:
    receipt(const tcasm_receipt& facts, std::string reason)
        : facts_(facts), reason_(std::move(reason)) {}

    explicit operator bool() const noexcept { return facts_.version != 0; }
    /// Returns the number of the version, or 0.
    [[nodiscard]] std::uint64_t version() const noexcept { return facts_.version; }
    /// Says why nothing was published. The changes are in the next version.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    [[nodiscard]] const tcasm_receipt& facts() const noexcept { return facts_; }

private:
    tcasm_receipt facts_;
    std::string reason_;
};

/// Where a simulation goes on after a rollback.
struct moment {
    std::uint64_t step;
    double time;
};

class producer;

/// Another buffer of a field, to compute the next step in. It lives as long as the region.
class buffer {
public:
    buffer(buffer&& other) noexcept
        : raw_(std::exchange(other.raw_, nullptr)), layout_(other.layout_) {}
    buffer& operator=(buffer&& other) noexcept {
        raw_ = std::exchange(other.raw_, nullptr);
        layout_ = other.layout_;
        return *this;
    }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() = default;

    template <element T>
    [[nodiscard]] array_view<T> array() const {
        return array_view<T>(layout_);
    }

private:
    friend class producer;
    buffer(tcasm_buffer* raw, const tcasm_array& layout) : raw_(raw), layout_(layout) {}

    tcasm_buffer* raw_;
    tcasm_array layout_;
};

/// A region. Its end ends the stream of versions and unmaps the fields: pointers and views of them
/// must not be used any more. Threads may share it, but nobody may store to fields during publish.
class producer {
public:
    /// Creates the region `name` with room for `capacity` bytes of fields.
    producer(const std::string& name, std::size_t capacity, const options& settings = {}) {
        tcasm_producer* raw = nullptr;
        detail::check(tcasm_create(name.c_str(), capacity, settings.get(), &raw));
        handle_ = decltype(handle_)(raw);
    }

    /// Takes ownership of a handle.
    explicit producer(tcasm_producer* raw) noexcept : handle_(raw) {}

    /// Adds a field of zeros, to compute in. Ghost layers are part of the shape. The view of a
    /// variable field has all that there is room for.
    template <element T>
    array_view<T> add_field(const std::string& name, const shape& extents,
                            const field_options& settings = {}) {
        void* data = nullptr;
        detail::check(tcasm_add_field(get(), name.c_str(), dtype_of<T>, extents.size(),
                                      extents.data(), settings.get(), &data));
        tcasm_array array = layout(name);
        if (array.capacity != 0) {
            const std::size_t axis = array.order == TCASM_ORDER_C ? 0 : points(array) - 1;
            array.shape[axis] = array.capacity;
            array.data = data;
            array.bytes = sizeof(T);
            for (const std::size_t extent : extents) {
                array.bytes *= extent;
            }
        }
        return array_view<T>(array);
    }

    /// Adds `count` structures of zeros, to compute in. `type_name` appears in messages only.
    template <class T>
        requires std::is_trivially_copyable_v<T>
    std::span<T> add_structures(const std::string& name, std::size_t count,
                                const std::string& type_name) {
        void* data = nullptr;
        detail::check(tcasm_add_structures(get(), name.c_str(), count, sizeof(T), alignof(T),
                                           type_name.c_str(), &data));
        return {static_cast<T*>(data), count};
    }
    /// Makes an array that exists a field: `data` is its first element, and it has all elements of
    /// the shape without gaps. It stays where it is. Until `release_adopted` it must not be freed,
    /// moved or resized: the field would be lost.
    template <element T>
    void adopt(const std::string& name, T* data, const shape& extents,
               const field_options& settings = {}) {
        detail::check(tcasm_adopt(get(), name.c_str(), dtype_of<T>, extents.size(), extents.data(),
                                  data, settings.get()));
    }
    /// Ends the adoption of an array. The next version has no such field. A field that is the
    /// geometry of a mesh stays, and is lost until an array is adopted under its name.
    void release_adopted(const std::string& name) {
        detail::check(tcasm_release_adopted(get(), name.c_str()));
    }
    /// Returns the names of the fields that are lost: their memory was unmapped, moved or replaced
    /// before `release_adopted`.
    [[nodiscard]] std::vector<std::string> lost() const {
        std::size_t count = 0;
        detail::check(tcasm_lost_count(get(), &count));
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; i++) {
            const char* name = nullptr;
            detail::check(tcasm_lost_name(get(), i, &name));
            names.emplace_back(name);
        }
        return names;
    }

    /// Returns the live memory of a field, as the next version will have it.
    template <element T>
    [[nodiscard]] array_view<T> live(const std::string& name) const {
        return array_view<T>(layout(name));
    }

    /// Returns memory of the region that no version ever has: zeros, without gaps, with the last
    /// index varying fastest. It lives as long as the region.
    template <element T>
    [[nodiscard]] array_view<T> scratch(const shape& extents) {
        void* data = nullptr;
        detail::check(tcasm_scratch(get(), dtype_of<T>, extents.size(), extents.data(), &data));
        return array_view<T>(dense(dtype_of<T>, sizeof(T), extents, data));
    }

    /// Publishes the fields as they are now. If there is no room the receipt is false.
    receipt publish(std::uint64_t step, double time) {
        return receipt_of(tcasm_publish(get(), step, time));
    }
    /// Publishes. If there is no room, tries again until the time is over.
    receipt publish(std::uint64_t step, double time, seconds timeout) {
        return receipt_of(tcasm_publish_wait(get(), step, time, timeout.count()));
    }

    /// Waits until observers can see the last version. Returns false if the time is over before.
    bool wait_visible(seconds timeout = forever) {
        return in_time(tcasm_wait_visible(get(), timeout.count()));
    }
    /// Waits until all that was published is captured.
    bool wait_captured(seconds timeout = forever) {
        return in_time(tcasm_wait_captured(get(), timeout.count()));
    }

    /// Sets the length of a variable field, or of a mesh, from the next version on.
    void set_len(const std::string& name, std::size_t len) {
        detail::check(tcasm_set_len(get(), name.c_str(), len));
    }
    /// Sets several lengths at once, by the names of fields or meshes. Each is exactly the one that
    /// is given. If one cannot be, all stay as they are.
    void set_lens(const std::vector<std::pair<std::string, std::size_t>>& lens) {
        std::vector<const char*> names;
        std::vector<std::size_t> numbers;
        for (const auto& [name, len] : lens) {
            names.push_back(name.c_str());
            numbers.push_back(len);
        }
        detail::check(tcasm_set_lens(get(), names.data(), numbers.data(), names.size()));
    }
    [[nodiscard]] std::size_t len(const std::string& name) const {
        std::size_t len = 0;
        detail::check(tcasm_len(get(), name.c_str(), &len));
        return len;
    }
    /// Sets attributes of the region from the next version on.
    void set_attrs(const attrs& list) { detail::check(tcasm_set_attrs(get(), list.get())); }

    /// Restores all fields to those of a version that exists.
    moment rollback(std::uint64_t version) {
        moment back{};
        detail::check(tcasm_rollback(get(), version, &back.step, &back.time));
        return back;
    }
    /// Gives memory that no version needs back to the system. Returns the number of bytes.
    std::uint64_t trim() {
        std::uint64_t bytes = 0;
        detail::check(tcasm_trim(get(), &bytes));
        return bytes;
    }

    /// Returns what publish has done so far, and how long it took.
    [[nodiscard]] tcasm_publish_stats stats() const {
        auto counted = sized<tcasm_publish_stats>();
        detail::check(tcasm_producer_stats(get(), &counted));
        return counted;
    }
    /// Tells the observers of a process to leave: they get no more versions. Returns how many there
    /// were. Versions that they hold stay until they let go of them.
    std::size_t revoke(std::uint64_t pid) {
        std::size_t count = 0;
        detail::check(tcasm_revoke_observer(get(), pid, &count));
        return count;
    }

    /// Adds a uniform mesh: points, origin and spacing along x, y and z.
    void add_uniform_mesh(const std::string& name, const std::array<std::size_t, 3>& points,
                          const std::array<double, 3>& origin = {0.0, 0.0, 0.0},
                          const std::array<double, 3>& spacing = {1.0, 1.0, 1.0},
                          const attrs& list = {}) {
        detail::check(tcasm_add_uniform_mesh(get(), name.c_str(), points.data(), origin.data(),
                                             spacing.data(), list.get()));
    }
    /// Adds a mesh whose geometry is fields. `cell_type` is VTK's number for `unstructured`.
    void add_mesh(const std::string& name, mesh_kind kind, const std::vector<std::string>& geometry,
                  std::uint8_t cell_type = 0, const attrs& list = {}) {
        std::vector<const char*> names;
        for (const auto& field : geometry) {
            names.push_back(field.c_str());
        }
        detail::check(tcasm_add_mesh(get(), name.c_str(), static_cast<int>(kind), names.size(),
                                     names.data(), cell_type, list.get()));
    }
    void set_uniform_mesh(const std::string& name, const std::array<std::size_t, 3>& points,
                          const std::array<double, 3>& origin,
                          const std::array<double, 3>& spacing) {
        detail::check(tcasm_set_uniform_mesh(get(), name.c_str(), points.data(), origin.data(),
                                             spacing.data()));
    }
    /// Adds a uniform mesh that is a block of the block-structured mesh `of`.
    void add_block(const std::string& name, const std::array<std::size_t, 3>& points,
                   const std::array<double, 3>& origin, const std::array<double, 3>& spacing,
                   const std::string& of, std::uint32_t level,
                   const std::array<std::uint32_t, 3>& refinement,
                   const std::array<std::int64_t, 3>& offset, const attrs& list = {}) {
        detail::check(tcasm_add_block(get(), name.c_str(), points.data(), origin.data(),
                                      spacing.data(), of.c_str(), level, refinement.data(),
                                      offset.data(), list.get()));
    }
    /// Gives a mesh that was added as a block another place.
    void set_block(const std::string& name, const std::string& of, std::uint32_t level,
                   const std::array<std::uint32_t, 3>& refinement,
                   const std::array<std::int64_t, 3>& offset) {
        detail::check(tcasm_set_block(get(), name.c_str(), of.c_str(), level, refinement.data(),
                                      offset.data()));
    }
    void set_unused(const std::string& mesh) {
        detail::check(tcasm_set_unused(get(), mesh.c_str()));
    }

    /// Makes another buffer like that of a field.
    [[nodiscard]] buffer buffer_like(const std::string& name) {
        tcasm_array like = layout(name);
        tcasm_buffer* raw = nullptr;
        detail::check(tcasm_buffer_like(get(), name.c_str(), &raw, &like.data));
        return {raw, like};
    }
    /// Binds a field to `next`, which becomes the buffer that the field was bound to before.
    void bind(const std::string& name, buffer& next) {
        tcasm_buffer* raw = nullptr;
        detail::check(tcasm_bind(get(), name.c_str(), next.raw_, &raw, &next.layout_.data));
        next.raw_ = raw;
    }
    /// Begins the next rewriting of a handed-over field: every element must be written.
    void rewrite(const std::string& name) { detail::check(tcasm_rewrite(get(), name.c_str())); }
    void rewrite(const buffer& buffer) {
        detail::check(tcasm_rewrite_buffer(get(), buffer.raw_));
    }
    /// Marks bytes of a field as written, after a write that no tracker sees.
    void mark_dirty(const std::string& name, std::size_t offset, std::size_t bytes) {
        detail::check(tcasm_mark_dirty(get(), name.c_str(), offset, bytes));
    }
    void register_dma(const std::string& name) {
        detail::check(tcasm_register_dma(get(), name.c_str()));
    }

    /// Ends the stream of versions, and unmaps the region.
    void close() { detail::check(handle_.reset()); }
    [[nodiscard]] tcasm_producer* get() const noexcept { return handle_.get(); }

private:
    [[nodiscard]] tcasm_array layout(const std::string& name) const {
        auto array = sized<tcasm_array>();
        detail::check(tcasm_live(get(), name.c_str(), &array));
        return array;
    }

    /// Describes an array without gaps, whose last index varies fastest.
    static tcasm_array dense(int dtype, std::size_t item, const shape& extents, void* data) {
        auto array = sized<tcasm_array>();
        array.data = data;
        array.bytes = item;
        array.dtype = dtype;
        array.rank = static_cast<int>(extents.size());
        array.components = 1;
        array.order = TCASM_ORDER_C;
        array.centring = TCASM_ON_POINTS;
        for (std::size_t axis = extents.size(); axis-- > 0;) {
            array.shape[axis] = extents[axis];
            array.strides[axis] = array.bytes;
            array.bytes *= extents[axis];
        }
        return array;
    }

    /// Returns the number of dimensions without that of components.
    static std::size_t points(const tcasm_array& array) noexcept {
        return static_cast<std::size_t>(array.rank) - (array.components > 1 ? 1 : 0);
    }

    receipt receipt_of(int status) {
        std::string reason = status == TCASM_SKIPPED ? tcasm_last_error() : "";
        if (status != TCASM_SKIPPED) {
            detail::check(status);
        }
        auto facts = sized<tcasm_receipt>();
        detail::check(tcasm_last_receipt(get(), &facts));
        return {facts, std::move(reason)};
    }

    static bool in_time(int status) {
        if (status != TCASM_NOT_READY) {
            detail::check(status);
        }
        return status == TCASM_OK;
    }

    detail::handle<tcasm_producer, tcasm_close> handle_;
};

} // namespace tcasm

#endif
