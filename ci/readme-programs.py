#!/usr/bin/env python3
"""Writes the two programs of README.md in a language, and what the README builds them with.

Usage: readme-programs.py rust|c|fortran|python FOLDER

The files are producer.SUFFIX, observer.SUFFIX and, for C and Fortran, build.sh.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
SUFFIXES = {"rust": "rs", "c": "c", "fortran": "f90", "python": "py"}


def blocks(text, language):
    """Returns the programs in a language, and the lines of the shell that follow them, if any."""
    found = re.findall(r"^```(\w+)(?:,\w+)*\n(.*?)^```$", text, re.M | re.S)
    places = [i for i, (kind, _) in enumerate(found) if kind == language]
    if len(places) != 2:
        sys.exit(f"README.md has {len(places)} programs in {language}, not 2")
    programs = [found[i][1] for i in places]
    after = found[places[-1] + 1 :]
    return programs, after[0][1] if after and after[0][0] == "sh" else None


def main(language, folder):
    programs, build = blocks(README.read_text(), language)
    for name, program in zip(("producer", "observer"), programs):
        (folder / f"{name}.{SUFFIXES[language]}").write_text(program)
    if build:
        (folder / "build.sh").write_text(build)


main(sys.argv[1], Path(sys.argv[2]))
