"""Checks that the modules of each published package import each other in one direction only.

    cycles.py    prints each group of modules that import each other, and their imports

A module imports another one if it names something that the other one defines, in a `use` or by a
path. A re-export is no import: whoever uses the name imports the module that defines it. So a table
of contents imports none of its modules, and a child may add methods to a type of its parent, which
calls them without naming the child. Code for tests does not count.

The sources are read as text. Paths that a macro puts together are missed.
"""

import pathlib
import re
import subprocess
import sys

PACKAGES = [
    "core", "producer", "observer", "analytics", "checkpoint", "restart", "hostbuffer", "transfer",
    "registration", "relay", "view", "agent", "cli",
]

# Comments, strings and characters.
TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|[^\\'])'""", re.S
)
FOR_TESTS = re.compile(r"#\[cfg\((?:test|all\(test\b[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*")
MODULE = re.compile(r"\bmod\s+(\w+);")
USE = re.compile(r"^\s*(pub(?:\([a-z]+\))?\s+)?use\s+([^;]+);", re.M)
INNERMOST = re.compile(r"([^{},]*)\{([^{}]*)\}")
PATH = re.compile(r"(?<![\w:])(?:[a-z_]\w*::)+\w+")


def without_tests(code):
    """Returns the code without items for tests, and the names of the modules among these."""
    names = []
    while test := FOR_TESTS.search(code):
        end = end_of_item(code, test.end())
        names += MODULE.findall(code[test.end() : end])
        code = code[: test.start()] + code[end:]
    return code, names


def end_of_item(code, start):
    """Returns where the item ends that begins at `start`."""
    depth = 0
    for mark in re.finditer(r"[][(){};]", code[start:]):
        depth += (mark[0] in "([{") - (mark[0] in ")]}")
        if depth < 0:
            return start + mark.start()
        if depth == 0 and mark[0] in ";}":
            return start + mark.end()
    return len(code)


def paths(tree):
    """Yields the paths in the tree of a `use`, as lists, each with the name that it gets."""
    while "{" in tree:
        tree = INNERMOST.sub(lambda inner: ",".join(joined(inner[1], inner[2])), tree)
    for path in tree.split(","):
        path, _, name = path.strip().partition(" as ")
        path = path.removesuffix("::self").split("::")
        yield path, name or path[-1]


def joined(head, members):
    members = (member.strip() for member in members.split(","))
    return (head.strip() + member for member in members if member)


def module_of(path):
    """Returns the module that a file is, by its path below `src`: the names on its path."""
    names = path.removesuffix(".rs").split("/")
    return tuple(names[:-1] if names[-1] in ("lib", "mod") else names)


class Package:
    """The modules of a package."""

    def __init__(self, files):
        """`files` has the text of each file, by its path below `src`."""
        self.code, tests = {}, []
        for path, text in files.items():
            module = module_of(path)
            self.code[module], names = without_tests(TEXT.sub('""', text))
            tests += [(*module, name) for name in names]
        for module in list(self.code):
            if any(module[: len(test)] == test for test in tests):
                del self.code[module]
        self.names = {
            module: {name: path for _, tree in USE.findall(code) for path, name in paths(tree)}
            for module, code in self.code.items()
        }

    def imports(self):
        """Returns the modules that each module imports."""
        return {module: self.imports_of(module) for module in self.code}

    def imports_of(self, module):
        code = self.code[module]
        used = [path for public, tree in USE.findall(code) if not public for path, _ in paths(tree)]
        used += [path.split("::") for path in PATH.findall(USE.sub("", code))]
        owners = {self.owner(module, path) for path in used}
        return {owner for owner in owners if owner in self.code} - {module}

    def owner(self, module, path, seen=()):
        """Returns the module that defines what `path` means in `module`, or None if that is in
        another package. Follows imports and re-exports, except those in `seen`."""
        at, rest = module, path
        if path[0] == "crate":
            at, rest = (), path[1:]
        while rest and rest[0] in ("self", "super"):
            at, rest = at[: len(at) - (rest[0] == "super")], rest[1:]
        begins_here = rest is path
        while rest:
            name = (at, rest[0])
            if (*at, rest[0]) in self.code:
                at, rest = (*at, rest[0]), rest[1:]
            elif rest[0] in self.names.get(at, {}) and name not in seen:
                return self.owner(at, self.names[at][rest[0]] + rest[1:], (*seen, name))
            else:
                return None if begins_here and rest is path else at
        return at


def cycles(imports):
    """Returns the groups of modules that import each other, directly or through others."""
    reached = {module: reachable(imports, module) for module in imports}
    groups = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in imports
    }
    return sorted(sorted(group) for group in groups if group)


def reachable(imports, module):
    """Returns the modules that `module` imports, directly or through others."""
    known, new = set(), {module}
    while new:
        new = set().union(*(imports[module] for module in new)) - known
        known |= new
    return known


def faults(package, files):
    """Yields the groups of modules of a package that import each other, and their imports."""
    imports = Package(files).imports()
    name = "/".join
    for group in cycles(imports):
        yield f"{package}/src: these modules import each other: {', '.join(map(name, group))}"
        for module in group:
            others = sorted(imports[module] & set(group))
            yield f"    {name(module)} imports {', '.join(map(name, others))}"


def files_of(package):
    """Returns the text of each source file of the library of a package."""
    root = pathlib.Path(package, "src")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", root]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = [pathlib.Path(name) for name in names if name.endswith(".rs")]
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.is_file() and path != root / "main.rs"
    }


def main():
    found = [fault for package in PACKAGES for fault in faults(package, files_of(package))]
    if found:
        found.append("move what both sides use into a module that imports neither of them")
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
