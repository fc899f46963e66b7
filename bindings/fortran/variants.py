"""The procedures of the module for Fortran that exist for all kinds and ranks: tcasm_add_field,
tcasm_get and the like. generate.py writes them into the module.
"""

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


def wrapped(text, indent):
    """Breaks a line of Fortran at commas."""
    lines = []
    while len(text) > 98:
        at = text.rindex(", ", 0, 96) + 1
        lines.append(text[:at] + " &")
        text = " " * indent + text[at + 1 :]
    return lines + [text]


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


def added(kind, rank, opening, what, allocation, options=()):
    """Returns a subroutine that makes memory for a kind and a rank, and gives a pointer to it.
    `opening` has its beginning up to that pointer, `what` names the memory in errors, and
    `allocation` is the call that makes it."""
    declared = KINDS[kind][0]
    lines = ["", *opening, f"    {declared}, pointer, intent(out) :: field{colons(rank)}"]
    if rank:
        lines += [
            "    class(*), intent(in) :: shape(:)",
            "    class(*), intent(in), optional :: lower(:)",
        ]
    lines += [*options, "    integer, intent(out), optional :: status"]
    if rank:
        lines.append(f"    {declared}, pointer :: all{colons(rank)}")
    lines += [
        f"    integer(int64) :: n({rank})" + (f", first({rank})" if rank else ""),
        "    type(c_ptr) :: data",
        "    integer(c_int) :: code",
        "    nullify (field)",
        "    data = c_null_ptr",
    ]
    if not rank:
        return lines + [
            f"    code = {allocation}",
            "    if (code == TCASM_OK) call c_f_pointer(data, field)",
            "    call report(code, status)",
        ]
    return lines + [
        f"    code = numbers(shape, {what}, n)",
        "    if (code == TCASM_OK) code = bounds(lower, first)",
        f"    if (code == TCASM_OK) code = {allocation}",
        "    if (code == TCASM_OK) then",
        "      call c_f_pointer(data, all, n)",
        *wrapped(f"      field({firsts(rank)}) => all", 8),
        "    end if",
        "    call report(code, status)",
    ]


def add(kind, rank):
    """Returns the variant of tcasm_add_field for a kind and a rank."""
    name, shape = f"{kind}_{rank}", ", shape, lower" if rank else ""
    opening = [
        f"  subroutine add_{name}(producer, name, field{shape}, options, status)",
        "    type(tcasm_producer), intent(in) :: producer",
        "    character(*), intent(in) :: name",
    ]
    options = ["    type(tcasm_field_options), intent(in), optional :: options"]
    what = '"the extents of field " // trim(name)'
    allocation = f"added(producer, name, {KINDS[kind][1]}, n, options, data)"
    lines = added(kind, rank, opening, what, allocation, options)
    return lines + [f"  end subroutine add_{name}"]


def scratch(kind, rank):
    """Returns the variant of tcasm_scratch for a kind and a rank."""
    name, shape = f"{kind}_{rank}", ", shape, lower" if rank else ""
    opening = [
        f"  subroutine scratch_{name}(producer, field{shape}, status)",
        "    type(tcasm_producer), intent(in) :: producer",
    ]
    allocation = f"scratched(producer, {KINDS[kind][1]}, n, data)"
    lines = added(kind, rank, opening, '"the extents of scratch memory"', allocation)
    return lines + [f"  end subroutine scratch_{name}"]


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


def read_field(kind, rank):
    """Returns the variant of tcasm_read_field for a kind and a rank."""
    name, (declared, dtype, unsigned) = f"{kind}_{rank}", KINDS[kind]
    contiguous = ", contiguous" if rank else ""
    place = ["    data = c_loc(values)"]
    if rank:
        place = [
            "    data = c_null_ptr",
            "    if (size(values, kind=int64) > 0) data = c_loc(values)",
        ]
    return [
        "",
        f"  subroutine read_{name}(version, name, values, status)",
        "    type(tcasm_version), intent(in) :: version",
        "    character(*), intent(in) :: name",
        f"    {declared}, target{contiguous}, intent(out) :: values{colons(rank)}",
        "    integer, intent(out), optional :: status",
        "    type(c_ptr) :: data",
        *place,
        f"    call report(copied(version, name, {dtype}, {unsigned}, &",
        "      shape(values, kind=int64), data), status)",
        f"  end subroutine read_{name}",
    ]


def read_all(short, kind, rank):
    """Returns the variant of tcasm_global_read, whose short name is global, or of
    tcasm_concatenated_read, whose short name is concatenated, for a kind and a rank."""
    name, (declared, dtype, unsigned) = f"{kind}_{rank}", KINDS[kind]
    extents = ", ".join(f"n({axis})" for axis in range(1, rank + 1))
    joined = ".true." if short == "concatenated" else ".false."
    return [
        "",
        f"  subroutine {short}_{name}(version, name, values, first, count, status)",
        "    type(tcasm_group_version), intent(in) :: version",
        "    character(*), intent(in) :: name",
        f"    {declared}, allocatable, target, intent(out) :: values{colons(rank)}",
        "    class(*), intent(in), optional :: first(:), count(:)",
        "    integer, intent(out), optional :: status",
        f"    integer(int64) :: n({rank})",
        "    type(tcasm_part) :: part",
        "    integer(c_int) :: code",
        f"    code = array_part(version, name, {joined}, {dtype}, {unsigned}, &",
        "      first, count, n, part)",
        "    if (code == TCASM_OK) then",
        *wrapped(f"      allocate (values({extents}))", 8),
        "      if (size(values, kind=int64) > 0) code = array_copy(version, name, part, &",
        "        c_loc(values), size(values, kind=int64) * storage_size(values) / 8)",
        "    end if",
        "    call report(code, status)",
        f"  end subroutine {short}_{name}",
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


def interfaces():
    """Returns the lines of all generic interfaces."""
    lines = generic("tcasm_add_field", "add") + generic("tcasm_adopt", "adopt")
    lines += generic("tcasm_scratch", "scratch") + generic("tcasm_get", "get")
    lines += generic("tcasm_get_part", "part", RANKS[1:]) + generic("tcasm_read_field", "read")
    lines += generic("tcasm_global_read", "global", RANKS[1:])
    return lines + generic("tcasm_concatenated_read", "concatenated", RANKS[1:])


def procedures():
    """Returns the lines of all procedures."""
    lines = []
    for kind in KINDS:
        for rank in RANKS:
            lines += get(kind, rank) + add(kind, rank) + adopt(kind, rank)
            lines += scratch(kind, rank) + read_field(kind, rank)
        for rank in RANKS[1:]:
            lines += get_part(kind, rank)
            lines += read_all("global", kind, rank) + read_all("concatenated", kind, rank)
    return lines
