// Typed views of fields.

#ifndef TCASM_CPP_ARRAY_HPP
#define TCASM_CPP_ARRAY_HPP

#include "error.hpp"

#include <array>
#include <cassert>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace tcasm {

/// The order of a field in memory.
enum class order : int { c = TCASM_ORDER_C, fortran = TCASM_ORDER_F };

/// The place of the values of a field on its mesh.
enum class centring : int {
    points = TCASM_ON_POINTS,
    cells = TCASM_IN_CELLS,
    none = TCASM_NO_CENTRING,
};

namespace detail {

template <class T>
constexpr int dtype_of() {
    if constexpr (std::same_as<T, float>) {
        return TCASM_F32;
    } else if constexpr (std::same_as<T, double>) {
        return TCASM_F64;
    } else if constexpr (std::same_as<T, std::complex<float>>) {
        return TCASM_C32;
    } else if constexpr (std::same_as<T, std::complex<double>>) {
        return TCASM_C64;
    } else if constexpr (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8) {
        constexpr int first = std::is_signed_v<T> ? TCASM_I8 : TCASM_U8;
        return first + (sizeof(T) == 8 ? 3 : static_cast<int>(sizeof(T)) / 2);
    } else {
        return 0;
    }
}

} // namespace detail

/// A type that fields can have: integers of 8 to 64 bits, float, double, and complex of both.
template <class T>
concept element = detail::dtype_of<std::remove_const_t<T>>() != 0;

/// The number of the type in tcasm.h: `TCASM_F64` and the like.
template <element T>
inline constexpr int dtype_of = detail::dtype_of<std::remove_const_t<T>>();

/// Returns an initial value for a structure that a function of tcasm.h fills.
template <class T>
T sized() {
    T value{};
    value.size = sizeof(T);
    return value;
}

/// A view of a field, or of a part of one. It owns nothing: the memory lives as long as its region
/// or its version.
template <element T>
class array_view {
public:
    /// Wraps a description of tcasm.h. Throws if its elements are of another type.
    explicit array_view(const tcasm_array& layout) : layout_(layout) {
        if (layout.dtype != dtype_of<T>) {
            detail::raise(status_code::invalid_argument,
                          "the array has elements of type " + std::to_string(layout.dtype) +
                              " of tcasm.h, and type " + std::to_string(dtype_of<T>) +
                              " was asked for");
        }
    }

    [[nodiscard]] T* data() const noexcept { return static_cast<T*>(layout_.data); }
    [[nodiscard]] std::size_t rank() const noexcept {
        return static_cast<std::size_t>(layout_.rank);
    }
    /// Returns the extents, ghost layers included. The last one of a vector is its components.
    [[nodiscard]] std::span<const std::size_t> shape() const noexcept {
        return {layout_.shape, rank()};
    }
    [[nodiscard]] std::size_t extent(std::size_t axis) const noexcept {
        return layout_.shape[axis];
    }
    /// Returns the distance between neighbours along an axis, in elements.
    [[nodiscard]] std::size_t stride(std::size_t axis) const noexcept {
        return layout_.strides[axis] / sizeof(T);
    }
    /// Returns the ghost layers before and after the interior.
    [[nodiscard]] std::pair<std::size_t, std::size_t> ghosts(std::size_t axis) const noexcept {
        return {layout_.ghosts[axis][0], layout_.ghosts[axis][1]};
    }
    /// Returns the components of a point: 1 for scalars.
    [[nodiscard]] std::size_t components() const noexcept { return layout_.components; }
    [[nodiscard]] tcasm::order order() const noexcept {
        return static_cast<tcasm::order>(layout_.order);
    }
    /// Returns the number of elements.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t count = 1;
        for (const std::size_t n : shape()) {
            count *= n;
        }
        return count;
    }
    /// Returns the description of tcasm.h.
    [[nodiscard]] const tcasm_array& layout() const noexcept { return layout_; }

    /// Returns the element of an index. There are as many numbers as the rank, within the shape.
    template <std::integral... I>
    T& operator()(I... index) const noexcept {
        assert(sizeof...(I) == rank());
        std::size_t at = 0;
        [[maybe_unused]] std::size_t axis = 0;
        ((at += static_cast<std::size_t>(index) * stride(axis++)), ...);
        return data()[at];
    }

    /// Returns the element of an index. Throws if there is none.
    T& at(std::span<const std::size_t> index) const {
        std::size_t at = 0;
        bool inside = index.size() == rank();
        for (std::size_t axis = 0; inside && axis < rank(); ++axis) {
            inside = index[axis] < extent(axis);
            at += index[axis] * stride(axis);
        }
        if (!inside) {
            detail::raise(status_code::invalid_argument, "the index is not within the array");
        }
        return data()[at];
    }
    T& at(std::initializer_list<std::size_t> index) const {
        return at(std::span<const std::size_t>(index.begin(), index.size()));
    }

    /// Returns all elements in the order of memory. Throws if there are gaps between them.
    [[nodiscard]] std::span<T> span() const {
        if (size() * sizeof(T) != layout_.bytes) {
            detail::raise(status_code::invalid_argument,
                          "the array is a part of a field with gaps, so it is no span");
        }
        return {data(), size()};
    }

    /// Returns the array without its ghost layers.
    [[nodiscard]] array_view interior() const {
        array_view inner = *this;
        std::size_t first = 0;
        std::size_t last = 0;
        for (std::size_t axis = 0; axis < rank(); ++axis) {
            const auto [before, after] = ghosts(axis);
            inner.layout_.shape[axis] = extent(axis) - before - after;
            inner.layout_.ghosts[axis][0] = inner.layout_.ghosts[axis][1] = 0;
            first += before * stride(axis);
            last += (inner.extent(axis) - (inner.extent(axis) == 0 ? 0 : 1)) * stride(axis);
        }
        const bool none = inner.size() == 0;
        inner.layout_.bytes = none ? 0 : (last + 1) * sizeof(T);
        inner.layout_.data = none ? nullptr : const_cast<std::remove_const_t<T>*>(data() + first);
        return inner;
    }

#ifdef __cpp_lib_mdspan
    /// Returns a view of the standard library. Throws if the array has another rank.
    template <std::size_t N>
    [[nodiscard]] auto mdspan() const {
        if (N != rank()) {
            detail::raise(status_code::invalid_argument,
                          "the array has rank " + std::to_string(rank()));
        }
        std::array<std::size_t, N> extents{};
        std::array<std::size_t, N> strides{};
        for (std::size_t axis = 0; axis < N; ++axis) {
            extents[axis] = extent(axis);
            strides[axis] = stride(axis);
        }
        using shape_of = std::dextents<std::size_t, N>;
        const std::layout_stride::mapping<shape_of> mapping(shape_of(extents), strides);
        return std::mdspan<T, shape_of, std::layout_stride>(data(), mapping);
    }
#endif

private:
    tcasm_array layout_;
};

} // namespace tcasm

#endif
