#!/usr/bin/env python3
"""Writes the module for Fortran as one file: constants, structures and interfaces from tcasm.h, the
modules in src/, and the variants of tcasm_add_field, tcasm_adopt and tcasm_get for all kinds and
ranks. Writes the module of tcasm_files.h as another file, because its programs need another library.

Usage: generate.py FILE [FILES]     they are usually called tcasm.f90 and tcasm_files.f90
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent / "c/include/tcasm.h"
BEFORE_FIELDS = (
    "errors attrs source hostbuffers options producer meshes version parts meshes_of observer "
    "groups transfers"
).split()

# Kind: type, dtype, the unsigned dtype of the same size.
KINDS = {
    "int8": ("integer(int8)", "TCASM_I8", "TCASM_U8"),
    "int16": ("integer(int16)", "TCASM_I16", "TCASM_U16"),
    "int32": ("integer(int32)", "TCASM_I32", "TCASM_U32"),
    "int64": ("integer(int64)", "TCASM_I64", "TCASM_U64"),
    "real32": ("real(real32)", "TCASM_F32", "0"),
    "real64": ("real(real64)", "TCASM_F64", "0"),
    "complex32": ("complex(real32)", "TCASM_C32", "0"),
    "complex64": ("complex(real64)", "TCASM_C64", "0"),
}
RANKS = range(8)

NUMBERS = {
    "int": "integer(c_int)",
    "uint8_t": "integer(c_int8_t)",
    "uint32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "double": "real(c_double)",
    "void *": "type(c_ptr)",
    "const char *": "type(c_ptr)",
    "char *": "type(c_ptr)",
}
NOTE = "! Written by generate.py from headers of C and src/. Change those, and run it again.\n"
# Results of which there are as many as an argument says.
LISTS = {"firsts", "lasts", "steps", "numbers", "names", "values", "to"}


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


def wrapped(text, indent):
    """Breaks a line of Fortran at commas."""
    lines = []
    while len(text) > 98:
        at = text.rindex(", ", 0, 96) + 1
        lines.append(text[:at] + " &")
        text = " " * indent + text[at + 1 :]
    return lines + [text]


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


def colons(rank):
    return f"({','.join(':' * rank)})" if rank else ""


def firsts(rank):
    return ", ".join(f"first({axis}):" for axis in range(1, rank + 1))


def get(kind, rank):
    """Returns the variant of tcasm_get for a kind and a rank."""
    name, (declared, dtype, unsigned) = f"{kind}_{rank}", KINDS[kind]
    lower = ", lower" if rank else ""
    lines = [
        "",
        f"  subroutine get_{name}(source, name, field{lower}, status)",
        "    class(tcasm_source), intent(in) :: source",
        "    character(*), intent(in) :: name",
        f"    {declared}, pointer, intent(out) :: field{colons(rank)}",
    ]
    if rank:
        lines.append("    class(*), intent(in), optional :: lower(:)")
    lines += ["    integer, intent(out), optional :: status"]
    if rank:
        lines.append(f"    {declared}, pointer :: all{colons(rank)}")
    lines += [
        f"    integer(int64) :: n({rank})" + (f", first({rank})" if rank else ""),
        "    type(c_ptr) :: data",
        "    integer(c_int) :: code",
        "    nullify (field)",
        f"    code = mapped(source, name, {dtype}, {unsigned}, n, data)",
    ]
    if rank:
        axes = range(1, rank + 1)
        extents = ", ".join(f"n({a})" for a in axes)
        lines += [
            "    if (code == TCASM_OK) code = bounds(lower, first)",
            "    if (code == TCASM_OK) then",
            "      if (c_associated(data)) then",
            "        call c_f_pointer(data, all, n)",
            "      else",
            *wrapped(f"        allocate (all({extents})) ! without elements", 10),
            "      end if",
            *wrapped(f"      field({firsts(rank)}) => all", 8),
            "    end if",
        ]
    else:
        lines.append("    if (code == TCASM_OK) call c_f_pointer(data, field)")
    return lines + ["    call report(code, status)", f"  end subroutine get_{name}"]


def add(kind, rank):
    """Returns the variant of tcasm_add_field for a kind and a rank."""
    name, (declared, dtype, _) = f"{kind}_{rank}", KINDS[kind]
    shape = ", shape, lower" if rank else ""
    lines = [
        "",
        f"  subroutine add_{name}(producer, name, field{shape}, options, status)",
        "    type(tcasm_producer), intent(in) :: producer",
        "    character(*), intent(in) :: name",
        f"    {declared}, pointer, intent(out) :: field{colons(rank)}",
    ]
    if rank:
        lines += [
            "    class(*), intent(in) :: shape(:)",
            "    class(*), intent(in), optional :: lower(:)",
        ]
    lines += [
        "    type(tcasm_field_options), intent(in), optional :: options",
        "    integer, intent(out), optional :: status",
        f"    integer(int64) :: n({rank})" + (f", first({rank})" if rank else ""),
        "    type(c_ptr) :: data",
        "    integer(c_int) :: code",
        "    nullify (field)",
        "    data = c_null_ptr",
    ]
    if rank:
        lines[-5:-5] = [f"    {declared}, pointer :: all{colons(rank)}"]
        lines += [
            '    code = numbers(shape, "the extents of field " // trim(name), n)',
            "    if (code == TCASM_OK) code = bounds(lower, first)",
            f"    if (code == TCASM_OK) code = added(producer, name, {dtype}, n, options, data)",
            "    if (code == TCASM_OK) then",
            "      call c_f_pointer(data, all, n)",
            *wrapped(f"      field({firsts(rank)}) => all", 8),
            "    end if",
        ]
    else:
        lines += [
            f"    code = added(producer, name, {dtype}, n, options, data)",
            "    if (code == TCASM_OK) call c_f_pointer(data, field)",
        ]
    return lines + ["    call report(code, status)", f"  end subroutine add_{name}"]


def get_part(kind, rank):
    """Returns the variant of tcasm_get_part for a kind and a rank."""
    name, (declared, dtype, unsigned) = f"{kind}_{rank}", KINDS[kind]
    axes = range(1, rank + 1)
    sections = ", ".join(f"from({a}):to({a})" for a in axes)
    return [
        "",
        f"  subroutine part_{name}(version, name, field, first, count, status)",
        "    type(tcasm_version), intent(in) :: version",
        "    character(*), intent(in) :: name",
        f"    {declared}, pointer, intent(out) :: field{colons(rank)}",
        "    class(*), intent(in) :: first(:), count(:)",
        "    integer, intent(out), optional :: status",
        f"    {declared}, pointer :: all{colons(rank)}",
        f"    integer(int64), dimension({rank}) :: n, from, to",
        "    type(c_ptr) :: data",
        "    integer(c_int) :: code",
        "    nullify (field)",
        *wrapped(
            f"    code = mapped_part(version, name, {dtype}, {unsigned}, first, count, n, from, "
            "to, data)",
            6,
        ),
        "    if (code == TCASM_OK) then",
        "      call c_f_pointer(data, all, n)",
        *wrapped(f"      field => all({sections})", 8),
        "    end if",
        "    call report(code, status)",
        f"  end subroutine part_{name}",
    ]


def global_read(kind, rank):
    """Returns the variant of tcasm_global_read for a kind and a rank."""
    name, (declared, dtype, unsigned) = f"{kind}_{rank}", KINDS[kind]
    extents = ", ".join(f"n({axis})" for axis in range(1, rank + 1))
    return [
        "",
        f"  subroutine global_{name}(version, name, values, first, count, status)",
        "    type(tcasm_group_version), intent(in) :: version",
        "    character(*), intent(in) :: name",
        f"    {declared}, allocatable, target, intent(out) :: values{colons(rank)}",
        "    class(*), intent(in), optional :: first(:), count(:)",
        "    integer, intent(out), optional :: status",
        f"    integer(int64) :: n({rank})",
        "    type(tcasm_part) :: part",
        "    integer(c_int) :: code",
        f"    code = global_part(version, name, {dtype}, {unsigned}, first, count, n, part)",
        "    if (code == TCASM_OK) then",
        *wrapped(f"      allocate (values({extents}))", 8),
        "      if (size(values) > 0) code = global_copy(version, name, part, c_loc(values), &",
        "        size(values, kind=int64) * storage_size(values) / 8)",
        "    end if",
        "    call report(code, status)",
        f"  end subroutine global_{name}",
    ]


def adopt(kind, rank):
    """Returns the variant of tcasm_adopt for a kind and a rank."""
    name, (declared, dtype, _) = f"{kind}_{rank}", KINDS[kind]
    lines = [
        "",
        f"  subroutine adopt_{name}(producer, name, field, options, status)",
        "    type(tcasm_producer), intent(in) :: producer",
        "    character(*), intent(in) :: name",
        f"    {declared}, target, intent(in) :: field{colons(rank)}",
        "    type(tcasm_field_options), intent(in), optional :: options",
        "    integer, intent(out), optional :: status",
        "    type(c_ptr) :: data",
        "    integer(c_int) :: code",
    ]
    call = [
        "    data = c_loc(field)",
        f"    code = added(producer, name, {dtype}, &",
        "      shape(field, kind=int64), options, data)",
    ]
    if rank:
        lines += [
            "    if (size(field) == 0) then",
            '      code = refused("field " // trim(name) // " is adopted, and has no elements")',
            "    else if (.not. is_contiguous(field)) then",
            '      code = refused("field " // trim(name) // " is adopted, and is not contiguous")',
            "    else",
            *["  " + line for line in call],
            "    end if",
        ]
    else:
        lines += call
    return lines + ["    call report(code, status)", f"  end subroutine adopt_{name}"]


def generic(name, short, ranks=RANKS):
    variants = [f"    module procedure {short}_{kind}_{rank}" for kind in KINDS for rank in ranks]
    return [f"  interface {name}", *variants, f"  end interface {name}", ""]


def fields():
    """Returns the module of the procedures that exist for all kinds and ranks."""
    head, contains, tail = (HERE / "src/fields.f90").read_text().partition("\ncontains\n")
    lines = []
    for kind in KINDS:
        for rank in RANKS:
            lines += get(kind, rank) + add(kind, rank) + adopt(kind, rank)
        for rank in RANKS[1:]:
            lines += get_part(kind, rank) + global_read(kind, rank)
    declared = generic("tcasm_add_field", "add") + generic("tcasm_get", "get")
    declared += generic("tcasm_get_part", "part", RANKS[1:])
    declared += generic("tcasm_global_read", "global", RANKS[1:])
    declared += generic("tcasm_adopt", "adopt")
    return head + "\n" + "\n".join(declared) + contains + "\n".join(lines) + "\n" + tail


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
