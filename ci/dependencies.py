"""Checks that docs/dependencies.md gives a reason for each direct dependency of each published
package and of the page, and for nothing else, and that its number of packages for the producer is
right."""

import json
import re
import subprocess
import sys


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], check=True, capture_output=True, text=True).stdout


def wanted():
    """Returns the names of the normal dependencies of each published package, on any machine."""
    packages = json.loads(cargo("metadata", "--offline", "--no-deps", "--format-version", "1"))
    return {
        package["name"]: {
            dependency["rename"] or dependency["name"]
            for dependency in package["dependencies"]
            if dependency["kind"] is None and dependency["target"] is None
        }
        for package in packages["packages"]
        if package["publish"] != []
    }


def of_page():
    """Returns the names of the npm packages that the page of the live view uses."""
    with open("view/vendor/package.json", encoding="utf-8") as file:
        return set(json.load(file)["dependencies"])


def linked(package):
    """Returns the number of different packages that a program links for `package`."""
    tree = cargo("tree", "--offline", "-e", "normal", "-p", package, "--prefix", "none")
    return len({line.removesuffix(" (*)") for line in tree.splitlines() if line})


with open("docs/dependencies.md", encoding="utf-8") as file:
    page = file.read()
parts = dict(re.findall(r"^## (tcasm\S*|The page)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
faults = []
for package, names in (wanted() | {"The page": of_page()}).items():
    told = set(re.findall(r"^\| `([^`]+)` \|", parts.pop(package, ""), re.M))
    faults += [f"{package} depends on {name}: say why" for name in sorted(names - told)]
    faults += [f"{package} does not depend on {name}" for name in sorted(told - names)]
faults += [f"there is no published package {package}" for package in parts]
count = linked("tcasm-producer")
if f"| `tcasm-producer` | {count} |" not in page:
    faults.append(f"a program links {count} packages for tcasm-producer")

for fault in faults:
    print(f"docs/dependencies.md: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
