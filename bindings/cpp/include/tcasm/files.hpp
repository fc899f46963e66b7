// Checkpoints, and runs that continue from them. Programs that include this are linked with
// libtcasm_files, which needs HDF5, and not with libtcasm.

#ifndef TCASM_CPP_FILES_HPP
#define TCASM_CPP_FILES_HPP

#include "producer.hpp"
#include "version.hpp"

#include <tcasm_files.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tcasm {

/// How a run starts.
struct start {
    tcasm::producer producer;
    /// The step and time of the last version, if the region has its fields and values.
    std::optional<moment> restored;
};

/// Creates the region `name` as it was at the last version that `tcasm keep` holds, or in the newest
/// checkpoint of this name in `folders` that can be read, or else a new one. `producer::live` gives
/// the fields of a restored region.
[[nodiscard]] inline start restore_or_begin(const std::string& name, std::size_t capacity,
                                            const std::vector<std::string>& folders,
                                            const options& settings = {}) {
    std::vector<const char*> paths;
    for (const auto& folder : folders) {
        paths.push_back(folder.c_str());
    }
    auto found = sized<tcasm_start>();
    tcasm_producer* raw = nullptr;
    detail::check(tcasm_restore_or_begin(name.c_str(), capacity, settings.get(), paths.data(),
                                         paths.size(), &found, &raw));
    start made{producer(raw), std::nullopt};
    if (found.restored != 0) {
        made.restored = moment{found.step, found.time};
    }
    return made;
}

/// Opens a checkpoint: a file, or the newest in a folder that can be used.
[[nodiscard]] inline version open_checkpoint(const std::string& path) {
    tcasm_version* raw = nullptr;
    detail::check(tcasm_open_checkpoint(path.c_str(), &raw));
    return version(raw);
}

} // namespace tcasm

#endif
