// Ownership of handles of tcasm.h.

#ifndef TCASM_CPP_HANDLE_HPP
#define TCASM_CPP_HANDLE_HPP

#include <chrono>
#include <utility>

namespace tcasm {

/// A time to wait. All durations of std::chrono convert to it.
using seconds = std::chrono::duration<double>;

/// Waits as long as it takes.
inline constexpr seconds forever{-1.0};

namespace detail {

/// Owns a handle, which `end` closes.
template <class T, int (*end)(T*)>
class handle {
public:
    handle() noexcept = default;
    explicit handle(T* raw) noexcept : raw_(raw) {}
    handle(handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    handle& operator=(handle&& other) noexcept {
        if (this != &other) {
            reset();
            raw_ = std::exchange(other.raw_, nullptr);
        }
        return *this;
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    ~handle() { reset(); }

    [[nodiscard]] T* get() const noexcept { return raw_; }

    /// Ends the object, and returns the status of that.
    int reset() noexcept { return raw_ == nullptr ? 0 : end(std::exchange(raw_, nullptr)); }

private:
    T* raw_ = nullptr;
};

} // namespace detail
} // namespace tcasm

#endif
