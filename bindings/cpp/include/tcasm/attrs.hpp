// Free attributes of regions, fields and meshes.

#ifndef TCASM_CPP_ATTRS_HPP
#define TCASM_CPP_ATTRS_HPP

#include "error.hpp"
#include "handle.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tcasm {

/// The value of an attribute.
using attr = std::variant<std::int64_t, double, std::string, std::vector<double>>;

/// A list of attributes: `tcasm::attrs{{"code", "my solver"}, {"dt", 0.1}}`.
class attrs {
public:
    attrs() {
        tcasm_attrs* raw = nullptr;
        detail::check(tcasm_attrs_new(&raw));
        handle_ = owner(raw);
    }

    attrs(std::initializer_list<std::pair<const char*, attr>> values) : attrs() {
        for (const auto& [name, value] : values) {
            set(name, value);
        }
    }

    /// Takes ownership of a handle.
    explicit attrs(tcasm_attrs* raw) noexcept : handle_(raw) {}

    attrs& set(const std::string& name, const attr& value) {
        std::visit([&](const auto& v) { store(name.c_str(), v); }, value);
        return *this;
    }

    /// Returns all attributes, by name.
    [[nodiscard]] std::map<std::string, attr> values() const {
        std::size_t count = 0;
        detail::check(tcasm_attrs_count(get(), &count));
        std::map<std::string, attr> all;
        for (std::size_t i = 0; i < count; ++i) {
            const char* name = nullptr;
            int kind = 0;
            detail::check(tcasm_attrs_at(get(), i, &name, &kind));
            all.emplace(name, load(name, kind));
        }
        return all;
    }

    [[nodiscard]] tcasm_attrs* get() const noexcept { return handle_.get(); }

private:
    using owner = detail::handle<tcasm_attrs, tcasm_attrs_free>;

    void store(const char* name, std::int64_t value) {
        detail::check(tcasm_attrs_set_int(get(), name, value));
    }
    void store(const char* name, double value) {
        detail::check(tcasm_attrs_set_float(get(), name, value));
    }
    void store(const char* name, const std::string& value) {
        detail::check(tcasm_attrs_set_text(get(), name, value.c_str()));
    }
    void store(const char* name, const std::vector<double>& value) {
        detail::check(tcasm_attrs_set_floats(get(), name, value.data(), value.size()));
    }

    [[nodiscard]] attr load(const char* name, int kind) const {
        if (kind == TCASM_ATTR_INT) {
            std::int64_t value = 0;
            detail::check(tcasm_attrs_get_int(get(), name, &value));
            return value;
        }
        if (kind == TCASM_ATTR_FLOAT) {
            double value = 0.0;
            detail::check(tcasm_attrs_get_float(get(), name, &value));
            return value;
        }
        if (kind == TCASM_ATTR_TEXT) {
            const char* value = nullptr;
            detail::check(tcasm_attrs_get_text(get(), name, &value));
            return std::string(value);
        }
        return floats(name);
    }

    [[nodiscard]] std::vector<double> floats(const char* name) const {
        std::size_t count = 0;
        detail::check(tcasm_attrs_get_floats(get(), name, nullptr, 0, &count));
        std::vector<double> values(count);
        detail::check(tcasm_attrs_get_floats(get(), name, values.data(), count, &count));
        return values;
    }

    owner handle_;
};

} // namespace tcasm

#endif
