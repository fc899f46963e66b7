// TCASM for C++20: versions of a running simulation's memory. docs/cpp.md is an introduction.
//
// These headers are a thin layer over tcasm.h. Objects close what they own when they end, and can
// be moved, but not copied. Errors are exceptions of class tcasm::error.

#ifndef TCASM_HPP
#define TCASM_HPP

#include "tcasm/array.hpp"
#include "tcasm/attrs.hpp"
#include "tcasm/error.hpp"
#include "tcasm/group.hpp"
#include "tcasm/handle.hpp"
#include "tcasm/host_buffer.hpp"
#include "tcasm/mesh.hpp"
#include "tcasm/observer.hpp"
#include "tcasm/options.hpp"
#include "tcasm/producer.hpp"
#include "tcasm/transfers.hpp"
#include "tcasm/version.hpp"

#endif
