// Pinned versions.

#ifndef TCASM_CPP_VERSION_HPP
#define TCASM_CPP_VERSION_HPP

#include "array.hpp"
#include "attrs.hpp"
#include "handle.hpp"
#include "mesh.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tcasm {

/// The fields and pages that differ between two versions.
struct changes {
    std::uint64_t pages;
    std::vector<std::string> fields;
};

/// Some bytes of a field: the place of the first one in the field, and their number.
struct byte_range {
    std::uint64_t offset;
    std::uint64_t length;

    friend bool operator==(const byte_range&, const byte_range&) = default;
};

/// A pinned version: its values never change. Its end lets go of it, and unmaps its arrays.
class version {
public:
    /// Takes ownership of a handle.
    explicit version(tcasm_version* raw) : handle_(raw), stamp_(sized<tcasm_stamp>()) {
        detail::check(tcasm_version_stamp(get(), &stamp_));
    }

    [[nodiscard]] std::uint64_t number() const noexcept { return stamp_.version; }
    [[nodiscard]] std::uint64_t step() const noexcept { return stamp_.step; }
    [[nodiscard]] double time() const noexcept { return stamp_.time; }
    /// Returns when it was published, in nanoseconds since 1970-01-01 UTC.
    [[nodiscard]] std::uint64_t published() const noexcept { return stamp_.published; }

    /// Returns the names of the fields.
    [[nodiscard]] std::vector<std::string> fields() const {
        std::size_t count = 0;
        detail::check(tcasm_field_count(get(), &count));
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; ++i) {
            const char* name = nullptr;
            detail::check(tcasm_field_name(get(), i, &name));
            names.emplace_back(name);
        }
        return names;
    }

    /// Returns the meshes.
    [[nodiscard]] std::vector<tcasm::mesh> meshes() const {
        std::size_t count = 0;
        detail::check(tcasm_mesh_count(get(), &count));
        std::vector<tcasm::mesh> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(detail::mesh_at(get(), i));
        }
        return all;
    }
    /// Returns the attributes of a mesh.
    [[nodiscard]] tcasm::attrs mesh_attrs(const std::string& name) const {
        tcasm_attrs* raw = nullptr;
        detail::check(tcasm_mesh_attrs(get(), name.c_str(), &raw));
        return tcasm::attrs(raw);
    }

    /// Maps a field whole. Mapping it again costs nothing.
    template <element T>
    [[nodiscard]] array_view<const T> array(const std::string& name) const {
        return array_view<const T>(layout(name));
    }

    /// Maps a part of a field: the first index and the number of indices along each axis but that
    /// of components, ghost layers included.
    template <element T>
    [[nodiscard]] array_view<const T> part(const std::string& name,
                                           const std::vector<std::size_t>& first,
                                           const std::vector<std::size_t>& count) const {
        if (first.size() != count.size()) {
            detail::raise(status_code::invalid_argument,
                          "a part has as many first indices as numbers of indices");
        }
        auto array = sized<tcasm_array>();
        detail::check(tcasm_part_of(get(), name.c_str(), first.size(), first.data(), count.data(),
                                    &array));
        return array_view<const T>(array);
    }

    /// Maps a field of structures. Throws if their size or alignment is not that of `T`.
    template <class T>
        requires std::is_trivially_copyable_v<T>
    [[nodiscard]] std::span<const T> structures(const std::string& name) const {
        const tcasm_array array = layout(name);
        if (array.alignment != alignof(T) || array.shape[1] != sizeof(T)) {
            detail::raise(status_code::invalid_argument,
                          "field " + name + " has no structures of this size and alignment");
        }
        return {static_cast<const T*>(array.data), array.shape[0]};
    }

    /// Describes a field, whatever its type is, and maps it.
    [[nodiscard]] tcasm_array layout(const std::string& name) const {
        auto array = sized<tcasm_array>();
        detail::check(tcasm_array_of(get(), name.c_str(), &array));
        return array;
    }

    /// Copies bytes of a field, from byte `offset` on, without mapping anything.
    void read(const std::string& name, std::uint64_t offset, std::span<std::byte> to) const {
        auto* bytes = reinterpret_cast<std::uint8_t*>(to.data());
        detail::check(tcasm_read(get(), name.c_str(), offset, bytes, to.size()));
    }

    [[nodiscard]] std::string unit(const std::string& name) const {
        return text(name, TCASM_FIELD_UNIT);
    }
    /// Returns the named mesh that a field is on, or an empty text.
    [[nodiscard]] std::string mesh(const std::string& name) const {
        return text(name, TCASM_FIELD_MESH);
    }
    [[nodiscard]] std::string quantity(const std::string& name) const {
        return text(name, TCASM_FIELD_QUANTITY);
    }

    /// Returns the attributes of the region.
    [[nodiscard]] tcasm::attrs attrs() const { return attrs_of(nullptr); }
    /// Returns the attributes of a field.
    [[nodiscard]] tcasm::attrs attrs(const std::string& name) const {
        return attrs_of(name.c_str());
    }

    /// Returns what differs from an older version of the region.
    [[nodiscard]] changes changes_since(const version& older) const {
        return changes_from(older.get());
    }
    /// Returns what differs from the version before this one, which may be gone.
    [[nodiscard]] changes changes_since() const { return changes_from(nullptr); }

    /// Returns the bytes of a field that may differ from an older version: whole pages, cut to the
    /// field, ascending, with gaps between them. These are all bytes if the field is new, lies
    /// elsewhere or has another length.
    [[nodiscard]] std::vector<byte_range> changed_ranges(const std::string& name,
                                                         const version& older) const {
        return ranges_from(older.get(), name);
    }
    /// Returns the bytes of a field that may differ from the version before this one.
    [[nodiscard]] std::vector<byte_range> changed_ranges(const std::string& name) const {
        return ranges_from(nullptr, name);
    }

    /// Maps the whole version at the address that the region has in the producer, and returns it:
    /// pointers in structures work until this version is released. Throws if something else is
    /// there, such as the producer itself or another version.
    const void* map_at_base() const {
        const void* base = nullptr;
        detail::check(tcasm_map_at_base(get(), &base));
        return base;
    }

    /// Lets go of the version early.
    void release() { detail::check(handle_.reset()); }
    [[nodiscard]] tcasm_version* get() const noexcept { return handle_.get(); }

private:
    [[nodiscard]] std::string text(const std::string& name, int option) const {
        const char* text = nullptr;
        detail::check(tcasm_field_text(get(), name.c_str(), option, &text));
        return text;
    }

    [[nodiscard]] tcasm::attrs attrs_of(const char* name) const {
        tcasm_attrs* raw = nullptr;
        detail::check(tcasm_attrs_of(get(), name, &raw));
        return tcasm::attrs(raw);
    }

    [[nodiscard]] changes changes_from(tcasm_version* older) const {
        std::size_t count = fields().size();
        std::vector<const char*> names(count);
        changes found{};
        detail::check(
            tcasm_changes(get(), older, &found.pages, names.data(), names.size(), &count));
        found.fields.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
        return found;
    }

    [[nodiscard]] std::vector<byte_range> ranges_from(tcasm_version* older,
                                                      const std::string& name) const {
        std::vector<std::uint64_t> offsets;
        std::vector<std::uint64_t> lengths;
        const auto count = detail::fill([&](std::size_t room, std::size_t* all) {
            offsets.resize(room);
            lengths.resize(room);
            return tcasm_changed_ranges(get(), older, name.c_str(), offsets.data(),
                                        lengths.data(), room, all);
        });
        std::vector<byte_range> ranges;
        for (std::size_t i = 0; i < count; ++i) {
            ranges.push_back({offsets[i], lengths[i]});
        }
        return ranges;
    }

    detail::handle<tcasm_version, tcasm_release> handle_;
    tcasm_stamp stamp_;
};

} // namespace tcasm

#endif
