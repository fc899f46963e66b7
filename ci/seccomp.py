"""Allows userfaultfd in a seccomp profile of a container engine, and prints the profile.

    python3 ci/seccomp.py [--all-faults] [PROFILE] >tcasm-seccomp.json
    podman run --security-opt seccomp=tcasm-seccomp.json ...

PROFILE is the default profile of the engine. All its other rules stay. Podman has its own in
/usr/share/containers/seccomp.json. Docker's is in its program: take seccomp/default.json from
https://github.com/moby/profiles.
"""

import argparse
import errno
import json

CALL = "userfaultfd"
USER_MODE_ONLY = 1  # UFFD_USER_MODE_ONLY in linux/userfaultfd.h


def allow(profile, all_faults):
    """Changes `profile`: the rules of userfaultfd, and no others."""
    # A rule that denies the call would contradict the new one.
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name != CALL]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
    allowed = {"names": [CALL], "action": "SCMP_ACT_ALLOW"}
    if all_faults:
        profile["syscalls"].append(allowed)
        return
    # As the kernel does. The default of the profile may be another error, which says that the
    # kernel lacks the call.
    denied = {"names": [CALL], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    allowed["args"] = [flag_is(USER_MODE_ONLY)]
    denied["args"] = [flag_is(0)]
    profile["syscalls"] += [allowed, denied]


def flag_is(value):
    """Returns a condition: (flags & USER_MODE_ONLY) == value."""
    return {"index": 0, "value": USER_MODE_ONLY, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--all-faults",
        action="store_true",
        help="also for faults from inside the kernel, which deferred capture needs unless the "
        "program promises no_kernel_writes "
        "[default: only for faults of user code, which tracking needs]",
    )
    parser.add_argument("profile", nargs="?", default="/usr/share/containers/seccomp.json")
    arguments = parser.parse_args()
    with open(arguments.profile, encoding="utf-8") as file:
        profile = json.load(file)
    allow(profile, arguments.all_faults)
    print(json.dumps(profile, indent=1))


main()
