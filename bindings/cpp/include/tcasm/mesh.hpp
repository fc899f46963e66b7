// Meshes of versions.

#ifndef TCASM_CPP_MESH_HPP
#define TCASM_CPP_MESH_HPP

#include "array.hpp"
#include "error.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tcasm {

/// The kind of a mesh.
enum class mesh_kind : int {
    uniform = TCASM_UNIFORM,
    rectilinear = TCASM_RECTILINEAR,
    curvilinear = TCASM_CURVILINEAR,
    particles = TCASM_PARTICLES,
    unstructured = TCASM_UNSTRUCTURED,
    mixed = TCASM_MIXED,
};

/// The place of a block of a block-structured mesh.
struct block {
    std::string of;
    std::uint32_t level;
    std::array<std::uint32_t, 3> refinement;
    std::array<std::int64_t, 3> offset;
};

/// A mesh of a version.
struct mesh {
    std::string name;
    mesh_kind kind;
    /// VTK's number of the cells of an `unstructured` mesh.
    int cell_type;
    /// The names of the fields that are its geometry.
    std::vector<std::string> geometry;
    /// Of a uniform mesh, along x, y and z. One number of points is 0 if it is unused.
    std::array<std::size_t, 3> points;
    std::array<double, 3> origin;
    std::array<double, 3> spacing;
    std::optional<tcasm::block> block;
};

namespace detail {

/// Returns mesh `index` of a version.
inline mesh mesh_at(tcasm_version* version, std::size_t index) {
    auto raw = sized<tcasm_mesh>();
    check(tcasm_mesh_at(version, index, &raw));
    mesh found{raw.name,
               static_cast<mesh_kind>(raw.kind),
               raw.cell_type,
               {raw.geometry, raw.geometry + raw.fields},
               std::to_array(raw.points),
               std::to_array(raw.origin),
               std::to_array(raw.spacing),
               std::nullopt};
    if (raw.of != nullptr) {
        found.block = block{raw.of, raw.level, std::to_array(raw.refinement),
                            std::to_array(raw.offset)};
    }
    return found;
}

} // namespace detail
} // namespace tcasm

#endif
