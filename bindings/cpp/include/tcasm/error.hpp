// Statuses, and the exceptions that stand for them.

#ifndef TCASM_CPP_ERROR_HPP
#define TCASM_CPP_ERROR_HPP

#include <tcasm.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace tcasm {

/// The statuses of tcasm.h. Negative ones are errors.
enum class status_code : int {
    ok = TCASM_OK,
    not_ready = TCASM_NOT_READY,
    end_of_stream = TCASM_END_OF_STREAM,
    skipped = TCASM_SKIPPED,
    other_error = TCASM_OTHER_ERROR,
    producer_lost = TCASM_PRODUCER_LOST,
    revoked = TCASM_REVOKED,
    invalid_argument = TCASM_INVALID_ARGUMENT,
    invalid_handle = TCASM_INVALID_HANDLE,
    closed = TCASM_CLOSED,
    forked = TCASM_FORKED,
    region_not_found = TCASM_REGION_NOT_FOUND,
    not_attached = TCASM_NOT_ATTACHED,
    version_gone = TCASM_VERSION_GONE,
    too_many_pins = TCASM_TOO_MANY_PINS,
    not_found = TCASM_NOT_FOUND,
    not_created = TCASM_NOT_CREATED,
    not_defined = TCASM_NOT_DEFINED,
    refused = TCASM_REFUSED,
    lost = TCASM_LOST,
    internal_error = TCASM_INTERNAL_ERROR,
};

/// Any error. `what()` says what happened and what to do, and `status()` is its status.
class error : public std::runtime_error {
public:
    error(status_code status, const std::string& text)
        : std::runtime_error(text), status_(status) {}

    [[nodiscard]] status_code status() const noexcept { return status_; }

private:
    status_code status_;
};

/// There is no newer version in time.
class not_ready : public error {
    using error::error;
};

/// The producer has closed the region. Its last version can still be read.
class end_of_stream : public error {
    using error::error;
};

/// The producer died. Its last version can still be read.
class producer_lost : public error {
    using error::error;
};

/// The producer has revoked this observer. Release its versions and attach again.
class revoked : public error {
    using error::error;
};

namespace detail {

[[noreturn]] inline void raise(status_code status, const std::string& text) {
    switch (status) {
    case status_code::not_ready:
        throw not_ready(status, text);
    case status_code::end_of_stream:
        throw end_of_stream(status, text);
    case status_code::producer_lost:
        throw producer_lost(status, text);
    case status_code::revoked:
        throw revoked(status, text);
    default:
        throw error(status, text);
    }
}

/// Throws unless a function of tcasm.h has returned TCASM_OK.
inline void check(int status) {
    if (status != TCASM_OK) {
        raise(static_cast<status_code>(status), tcasm_last_error());
    }
}

/// Fills a list of unknown length. `call` gets the room for values and the place for the number of
/// all, and returns a status. It is repeated until there is room. Returns the number of all.
template <class Call>
std::size_t fill(Call call) {
    std::size_t count = 64;
    std::size_t room = 0;
    do {
        room = count;
        check(call(room, &count));
    } while (count > room);
    return count;
}

} // namespace detail
} // namespace tcasm

#endif
