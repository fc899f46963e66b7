"""Checks the example of a modulefile and the recipe for Spack in packaging/. Both must have the
version of the packages, the recipe the oldest Rust and the features of the command, and the
modulefile the folders that `make install` fills. Installs nothing; whether Spack takes the recipe
is not checked."""

import ast
import pathlib
import re
import shutil
import subprocess
import sys

MODULES = pathlib.Path("packaging/modulefiles/tcasm")
RECIPE = pathlib.Path("packaging/spack/spack_repo/tcasm/packages/tcasm/package.py")
# Commands of modulefiles, which print what they are called with.
COMMANDS = """
foreach name {module-whatis conflict prepend-path append-path} {
    proc $name args "puts \\[list $name {*}\\$args\\]"
}
source [lindex $argv 0]
"""
FOLDERS = {"PATH": "bin", "MANPATH": "share/man"}


def manifest(path, key):
    """Returns the value of a key whose line in a manifest is `KEY = "VALUE"`."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return re.search(rf'^{key} = "(.*)"$', text, re.M)[1]


def features():
    """Returns the features of the command, which its manifest lists."""
    text = pathlib.Path("cli/Cargo.toml").read_text(encoding="utf-8")
    part = re.search(r"^\[features\]\n(.*?)^\[", text, re.M | re.S)[1]
    return set(re.findall(r"^([\w-]+) = ", part, re.M))


def faults_of_recipe():
    """Yields what is wrong with the recipe."""
    text = RECIPE.read_text(encoding="utf-8")
    calls = [node for node in ast.walk(ast.parse(text, RECIPE)) if isinstance(node, ast.Call)]
    named = [node for node in calls if isinstance(node.func, ast.Name)]
    first = [(node.func.id, node.args[0].value) for node in named if is_text(node.args)]
    for call in [
        ("version", manifest("Cargo.toml", "version")),
        ("depends_on", f"rust@{manifest('Cargo.toml', 'rust-version')}:"),
    ]:
        if call not in first:
            yield f"{RECIPE}: it lacks {call[0]}({call[1]!r})"
    for feature in re.findall(r'"--features", "(\w+)"', text):
        if feature not in features():
            yield f"{RECIPE}: the command has no feature {feature!r}"


def is_text(arguments):
    return bool(arguments) and isinstance(getattr(arguments[0], "value", None), str)


def faults_of_module():
    """Yields what is wrong with the modulefile."""
    version = manifest("Cargo.toml", "version")
    files = [path.name for path in MODULES.iterdir()]
    if files != [version]:
        yield f"{MODULES}: the only file must be {version}, not {files}"
        return
    text = (MODULES / version).read_text(encoding="utf-8")
    if not text.startswith("#%Module"):
        yield f"{MODULES / version}: the first line must begin with #%Module"
    if not shutil.which("tclsh"):
        print("ci/packaging.py: the commands of the modulefile: NOT RUN: there is no tclsh")
        return
    command = ["tclsh", "/dev/stdin", str(MODULES / version)]
    run = subprocess.run(command, input=COMMANDS, capture_output=True, text=True)
    if run.returncode:
        yield f"{MODULES / version}: {run.stderr}"
    added = rf"^prepend-path (\w+) .*/{re.escape(version)}/(\S+)$"
    found = dict(re.findall(added, run.stdout, re.M))
    if found != FOLDERS:
        yield f"{MODULES / version}: it adds {found}, not {FOLDERS}"


faults = [*faults_of_recipe(), *faults_of_module()]
for fault in faults:
    print(f"packaging: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
