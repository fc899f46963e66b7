"""Checks the manifests of the published packages, which `cargo metadata` prints. Prints the name
and the version of each."""

import json
import sys

WANTED = ["description", "license", "readme", "keywords", "categories", "rust_version"]

faults = []
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] == []:
        continue
    name = package["name"]
    print(name, package["version"])
    faults += [f"{name} has no {key.replace('_', '-')}" for key in WANTED if not package[key]]
    for dependency in package["dependencies"]:
        # Publishing drops dependencies of tests that have a path only. All others need a version.
        if dependency.get("path") and dependency["kind"] != "dev" and dependency["req"] == "*":
            faults.append(f"{name} depends on {dependency['name']} without a version")

for fault in faults:
    print(f"package: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
