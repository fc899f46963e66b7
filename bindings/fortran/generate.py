#!/usr/bin/env python3
"""Writes the module for Fortran as one file: constants, structures and interfaces from tcasm.h, the
modules in src/, and the procedures that exist for all kinds and ranks (variants.py). Writes the
module of tcasm_files.h as another file, because its programs need another library.

Usage: generate.py FILE [FILES]     they are usually called tcasm.f90 and tcasm_files.f90
"""

import re
import sys
from pathlib import Path

import variants
from variants import wrapped

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent / "c/include/tcasm.h"
BEFORE_FIELDS = (
    "errors attrs source hostbuffers options producer lengths meshes version parts meshes_of "
    "observer stats groups arrays transfers"
).split()

NUMBERS = {
    "int": "integer(c_int)",
    "uint8_t": "integer(c_int8_t)",
    "uint32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "double": "real(c_double)",
    "void *": "type(c_ptr)",
    "const void *": "type(c_ptr)",
    "const char *": "type(c_ptr)",
    "char *": "type(c_ptr)",
}
NOTE = "! Written by generate.py from headers of C and src/. Change those, and run it again.\n"
# Results of which there are as many as an argument says.
LISTS = set(
    "firsts lasts steps numbers names values to offsets lengths pids uids pins versions".split()
)


def constants(header):
    """Returns the module of the numbers that tcasm.h defines."""
    found = re.findall(r"^#define (TCASM_\w+) (-?\d+)$", header, re.M)
    lines = [f"  integer, parameter :: {name} = {value}" for name, value in found]
    return module("constants", "The constants of tcasm.h.", lines, "")


def structures(header):
    """Returns the names of the structures in tcasm.h, and their declarations."""
    found = re.findall(r"typedef struct (\w+) \{(.*?)\n\} \w+;", header, re.S)
    lines = []
    for name, body in found:
        lines += ["", f"  type, bind(c) :: {name}"]
        plain = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        members = re.findall(r"(\w+) (\*?)(\w+)((?:\[\w+\])*);", plain)
        for kind, pointer, member, extents in members:
            bounds = ", ".join(reversed(re.findall(r"\[(\w+)\]", extents)))
            shape = f"({bounds})" if bounds else ""
            lines.append(f"    {NUMBERS[kind + ' *' if pointer else kind]} :: {member}{shape}")
        lines.append(f"  end type {name}")
    return [name for name, _ in found], lines


def argument(text, known):
    """Returns the name of an argument of C, and its declaration in Fortran."""
    kind, name = re.fullmatch(r"(.*?)(\w+)", " ".join(text.split())).groups()
    kind = kind.strip()
    extent = "(*)" if name in LISTS else ""
    if kind == "const char *":
        return name, f"character(kind=c_char), intent(in), optional :: {name}(*)"
    if kind in NUMBERS:
        return name, f"{NUMBERS[kind]}, value :: {name}"
    if kind == "tcasm_all_gather":
        return name, f"type(c_funptr), value :: {name}"
    if kind == "const char *const *":
        return name, f"type(c_ptr), intent(in), optional :: {name}(*)"
    if match := re.fullmatch(r"const (\w+) \*", kind):
        return name, f"{NUMBERS[match[1]]}, intent(in), optional :: {name}(*)"
    if match := re.fullmatch(r"struct (\w+) \*", kind):
        if match[1] in known:
            return name, f"type({match[1]}), intent(inout) :: {name}"
        return name, f"type(c_ptr), value :: {name}"
    if re.fullmatch(r"struct \w+ \*\*", kind):
        return name, f"type(c_ptr), intent(inout), optional :: {name}"
    if kind.endswith("*") and kind[:-1].strip() in NUMBERS:
        inner = NUMBERS[kind[:-1].strip()]
        return name, f"{inner}, intent(inout), optional :: {name}{extent}"
    if re.fullmatch(r"const struct \w+ \*", kind):
        return name, f"type(c_ptr), value :: {name}"
    raise SystemExit(f"generate.py does not know the type of the argument {text!r}")


def function(result, name, arguments, known):
    """Returns the interface of a function of C."""
    pairs = [argument(a, known) for a in arguments.split(",") if a.strip() != "void"]
    short = "c_" + name.removeprefix("tcasm_")
    names = ", ".join(n for n, _ in pairs)
    head = f'    function {short}({names}) bind(c, name="{name}")'
    lines = ["", *wrapped(head, 6), "      import"]
    lines += [f"      {declaration}" for _, declaration in pairs]
    kind = "type(c_ptr)" if "char" in result else "integer(c_int)"
    return lines + [f"      {kind} :: {short}", f"    end function {short}"]


def functions(header, known):
    """Returns the interfaces of all functions of a header."""
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    found = re.findall(r"^(int |const char \*)(tcasm_\w+)\(([^()]*)\);", plain, re.M)
    return [line for one in found for line in function(*one, known)]


def interfaces(header):
    """Returns the module of the structures and functions of tcasm.h."""
    known, lines = structures(header)
    lines += ["", "  interface", *functions(header, known), "", "  end interface"]
    uses = "  use, intrinsic :: iso_c_binding\n  use tcasm_constants\n"
    return module("c", "The structures and functions of tcasm.h.", lines, uses)


def module(name, text, lines, uses):
    body = "\n".join(lines)
    return (
        f"!> {text}\nmodule tcasm_{name}\n{uses}  implicit none\n  public\n{body}\n\n"
        f"end module tcasm_{name}\n"
    )


def fields():
    """Returns the module of the procedures that exist for all kinds and ranks."""
    head, contains, tail = (HERE / "src/fields.f90").read_text().partition("\ncontains\n")
    declared, procedures = "\n".join(variants.interfaces()), "\n".join(variants.procedures())
    return head + "\n" + declared + contains + procedures + "\n" + tail


def generated():
    header = HEADER.read_text()
    parts = [part(name) for name in BEFORE_FIELDS]
    last = part("tcasm")
    return "\n".join([NOTE, constants(header), interfaces(header), *parts, fields(), last])


def part(name):
    return (HERE / f"src/{name}.f90").read_text()


def generated_files():
    """Returns the modules of the functions that need HDF5."""
    header = HEADER.with_name("tcasm_files.h").read_text()
    known, lines = structures(header)
    lines += ["", "  interface", *functions(header, known), "", "  end interface"]
    uses = "  use, intrinsic :: iso_c_binding\n"
    text = "The structures and functions of tcasm_files.h."
    return "\n".join([NOTE, module("c_files", text, lines, uses), part("files")])


def main():
    files = [Path(name) for name in sys.argv[1:]]
    if len(files) not in (1, 2):
        sys.exit("usage: generate.py FILE [FILES]")
    for file, text in zip(files, (generated, generated_files)):
        file.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
