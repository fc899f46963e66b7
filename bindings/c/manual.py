#!/usr/bin/env python3
"""Writes the manual pages of the library for C from its headers: tcasm.3 with the statuses and the
constants, a page for the functions of each handle (tcasm_producer.3), and tcasm_files.3.

Usage: manual.py FOLDER      writes the pages
       manual.py --links     prints each function and its page
       manual.py --pages     prints the names of the pages
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOC = r"/\*\*\n((?:(?!\*/).)*?) ?\*/\n"


def read(header):
    return (HERE / "include" / header).read_text()


def functions(text):
    """Returns the name, the declaration and the comment of each function."""
    found = re.findall(DOC + r"((?:int|const char \*) ?(tcasm_\w+)\([^;]*\);)", text, re.S)
    return [(name, declaration, plain(comment)) for comment, declaration, name in found]


def plain(comment):
    """Returns the lines of a comment without its stars."""
    return [re.sub(r"^ ?\*? ?", "", line) for line in comment.rstrip().splitlines()]


def handle_of(declaration):
    """Returns the type of the handle that a function takes first, or that it makes."""
    arguments = declaration[declaration.index("(") :]
    if first := re.match(r"\(\s*struct (\w+) \*\w", arguments):
        return first[1]
    made = re.findall(r"struct (\w+) \*\*", arguments)
    return made[-1] if made else "tcasm"


def groups():
    """Returns the functions of each page, in the order of the header."""
    found = {"tcasm": []}
    for function in functions(read("tcasm.h")):
        found.setdefault(handle_of(function[1]), []).append(function)
    found["tcasm_files"] = functions(read("tcasm_files.h"))
    return found


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def formatted(lines):
    """Returns lines of comments as roff, with `names` in bold."""
    for line in lines:
        yield re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped(line)) if line else ".PP"


def literal(text):
    return [".nf", *(escaped(line) for line in text.splitlines()), ".fi"]


def structures(text, used):
    """Returns the structures that declarations use, as the header has them."""
    found = re.findall(r"^typedef struct (\w+) \{.*?^\} \w+;", text, re.M | re.S)
    whole = re.finditer(r"^typedef struct \w+ \{.*?^\} \w+;", text, re.M | re.S)
    for name, match in zip(found, whole):
        if any(re.search(rf"\bstruct {name} \*", declaration) for declaration in used):
            yield from [".PP", *literal(match[0])]


def about(text, page):
    """Returns the comment of the handle of a page."""
    found = re.search(DOC + rf"typedef struct {page} {page};", text, re.S)
    return plain(found[1]) if found else []


def introduction(header):
    return plain(re.match(r"/\*\n(.*?) ?\*/", read(header), re.S)[1])


def constants(text):
    """Returns numbers with their meanings."""
    for comment, name, number in re.findall(DOC + r"#define (TCASM_\w+) (-?\d+)\n", text, re.S):
        yield from [".TP", f"\\fB{name}\\fR ({escaped(number)})", *formatted(plain(comment))]


def page(name, listed, version, others):
    """Returns the lines of a page."""
    header = "tcasm_files.h" if name == "tcasm_files" else "tcasm.h"
    text = read(header)
    names = ", ".join(dict.fromkeys([name, *(function[0] for function in listed)]))
    of = {"tcasm": "versions of a running simulation", "tcasm_files": "checkpoints and restarts"}
    title = of.get(name, f"functions of {name.removeprefix('tcasm_').replace('_', ' ')}s")
    yield f'.TH {name.upper()} 3 "" "TCASM {version}" "TCASM for C"'
    yield from [".SH NAME", f"{names} \\- {title}", ".SH SYNOPSIS", f"\\fB#include <{header}>\\fR"]
    for _, declaration, _ in listed:
        yield from [".PP", *literal(declaration)]
    yield ".SH DESCRIPTION"
    yield from formatted(introduction(header) if header[:-2] == name else about(text, name))
    for function, _, comment in listed:
        yield from [f".SS {function}", *formatted(comment)]
    if shown := list(structures(text, [declaration for _, declaration, _ in listed])):
        yield from [".SH STRUCTURES", *shown]
    yield ".SH RETURN VALUE"
    if name == "tcasm":
        statuses, others_of_header = re.split(r"(?=/\*\*\n[^/]*\*/\n#define TCASM_I8 )", text)
        yield from constants(statuses)
        yield ".SH CONSTANTS"
        yield from constants(others_of_header)
    else:
        yield "A status: 0 is TCASM_OK, and negative ones are errors. See \\fBtcasm\\fR(3)."
    yield ".SH SEE ALSO"
    yield ", ".join(f"\\fB{other}\\fR(3)" for other in others if other != name)


def main(to):
    found = groups()
    if to == "--pages":
        print("\n".join(found))
    elif to == "--links":
        links = [(f[0], name) for name, listed in found.items() for f in listed]
        print("\n".join(f"{function} {name}" for function, name in links))
    else:
        version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
        for name, listed in found.items():
            lines = page(name, listed, version, found)
            (Path(to) / f"{name}.3").write_text("\n".join(lines) + "\n")


main(sys.argv[1])
