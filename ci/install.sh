#!/usr/bin/env bash
# Checks `make install` and `make uninstall`: installs the command and the agent into a temporary
# folder, runs them from there, formats the manual pages, reads the completion scripts, the udev rule
# and its group, uninstalls everything, and checks that nothing is left, and that the running system
# was not changed. Uses the debug profile, which the tests have built.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
folder=$(mktemp -d)
fakes=$(mktemp -d)
trap 'rm -rf "$folder" "$fakes"' EXIT
trap 'exit 130' INT TERM
man=$folder/usr/share/man/man1
share=$folder/usr/share
lib=$folder/usr/lib

main() {
    # A file of somebody else, with a similar name. It must stay.
    mkdir -p "$man"
    echo other >"$man/tcasm-other.1"

    make_fakes
    run_make install
    check_command
    check_agent
    check_run
    check_pages
    check_pages_of_library
    check_completions
    check_rule
    check_group
    run_make uninstall
    local left
    left=$(find "$folder" ! -type d)
    [ "$left" = "$man/tcasm-other.1" ] || stop "uninstalling should leave one file, not:
$left"
    echo "install: everything was installed, and removed again"
}

# Makes commands that stand for those which change the running system, and note that they were run.
make_fakes() {
    local command
    for command in udevadm systemctl systemd-sysusers groupadd usermod; do
        printf '#!/bin/sh\necho "%s $*" >>"%s/run"\n' "$command" "$fakes" >"$fakes/$command"
        chmod +x "$fakes/$command"
    done
}

run_make() {
    PATH=$fakes:$PATH make --no-print-directory "$1" PROFILE=dev PREFIX=/usr DESTDIR="$folder" \
        AGENT=1 >/dev/null ||
        stop "make $1 failed"
    [ ! -e "$fakes/run" ] || stop "make $1 must not change the running system:
$(cat "$fakes/run")"
}

# Runs the command. Each subcommand that its help lists must have a page.
check_command() {
    local tcasm=$folder/usr/bin/tcasm version command
    version=$("$tcasm" --version)
    [[ $version =~ ^tcasm\ [0-9]+\.[0-9]+\.[0-9]+ ]] || stop "tcasm --version prints '$version'"
    for command in $("$tcasm" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        [ "$command" = help ] || [ -e "$man/tcasm-$command.1" ] ||
            stop "tcasm-$command.1 is missing"
    done
}

check_agent() {
    "$folder/usr/bin/tcasm-agent" --help | grep -q 'Exit status' ||
        stop "tcasm-agent --help says nothing of its statuses"
    grep -q 'drain.*every' "$man/tcasm-agent.1" ||
        stop "the manual page of tcasm-agent lacks options"
}

# Runs a program under the library that was installed beside the command.
check_run() {
    local said program='import mmap, os
fd = os.open("tcasm:installed", os.O_RDWR)
os.ftruncate(fd, 4096)
mmap.mmap(fd, 4096).flush()'
    mkdir -m 700 "$fakes/run-folder"
    said=$(TCASM_RUNTIME_DIR=$fakes/run-folder "$folder/usr/bin/tcasm" run -- \
        python3 -c "$program" 2>&1) || stop "tcasm run fails: $said"
    [[ $said == "tcasm: region installed: 1 version, steps 1 to 1, "* ]] ||
        stop "tcasm run should print one version, not: $said"
}

check_pages() {
    local page text
    [ -e "$man/tcasm.1" ] || stop "tcasm.1 is missing"
    grep -q "TCASM_RUNTIME_DIR" "$man/tcasm.1" || stop "tcasm.1 lacks the environment variables"
    if ! can_format; then
        echo "install: formatting manual pages: NOT RUN: there is neither mandoc nor groff"
        return
    fi
    for page in "$man"/tcasm*.1; do
        [ "$page" != "$man/tcasm-other.1" ] || continue
        text=$(format "$page" 2>&1) && [[ $text == *SYNOPSIS* ]] ||
            stop "${page##*/} cannot be formatted:
$text"
    done
}

# Each function of the headers has a page, which describes it.
check_pages_of_library() {
    local function page formatted=$fakes/formatted
    mkdir "$formatted"
    for page in "$share"/man/man3/tcasm*.3; do
        [ -e "$page" ] || stop "${page##*/} is a link to nothing"
    done
    if ! can_format; then
        echo "install: formatting pages of the library: NOT RUN: there is neither mandoc nor groff"
        return
    fi
    for page in "$share"/man/man3/tcasm*.3; do
        [ -L "$page" ] || format "$page" >"$formatted/${page##*/}" 2>&1 ||
            stop "${page##*/} cannot be formatted:
$(cat "$formatted/${page##*/}")"
    done
    for function in $(sed -n 's/^\(int\|const char \*\) *\(tcasm_[a-z_]*\)(.*/\2/p' \
        bindings/c/include/*.h); do
        page=$(readlink "$share/man/man3/$function.3") || stop "$function has no manual page"
        grep -qx " *$function" "$formatted/$page" || stop "$page does not describe $function"
    done
    grep -q TCASM_REVOKED "$formatted/tcasm.3" || stop "tcasm.3 lacks the statuses"
}

can_format() { command -v mandoc >/dev/null || command -v groff >/dev/null; }

# Prints a page as plain text: bold letters are printed twice, with a backspace between.
format() {
    if command -v mandoc >/dev/null; then
        mandoc -T ascii "$1"
    else
        groff -man -T ascii "$1"
    fi | sed $'s/.\b//g'
}

check_completions() {
    local bash=$share/bash-completion/completions/tcasm
    local zsh=$share/zsh/site-functions/_tcasm fish=$share/fish/vendor_completions.d/tcasm.fish
    grep -q '^#compdef tcasm' "$zsh" || stop "the script for zsh is not what zsh looks for"
    grep -q '^complete -c tcasm' "$fish" || stop "the script for fish completes nothing"
    bash -n "$bash" || stop "bash cannot read its script"
    if command -v zsh >/dev/null; then zsh -n "$zsh" || stop "zsh cannot read its script"; fi
    if command -v fish >/dev/null; then
        fish --no-execute "$fish" || stop "fish cannot read its script"
    fi
}

# Checks the rule of udev: first its form, on any machine, then with udev, if that can check rules.
check_rule() {
    local rule=$lib/udev/rules.d/60-tcasm-userfaultfd.rules key='[A-Z]+(==|\+?=)"[^"]+"' other
    [ -e "$rule" ] || stop "the udev rule is missing"
    other=$(grep -Evx "#.*|$key(, $key)*" "$rule" || true)
    [ -z "$other" ] || stop "not a line of an udev rule: $other"
    if udevadm verify --help >/dev/null 2>&1; then
        udevadm verify --resolve-names=never "$rule" || stop "udev does not accept the rule"
    else
        echo "install: checking the rule with udev: NOT RUN: there is no 'udevadm verify'"
    fi
}

# Checks that the group is the one of the rule, and that systemd would make it.
check_group() {
    local group said
    group=$(sed -n 's/.* GROUP="\([^"]*\)".*/\1/p' "$lib"/udev/rules.d/*.rules)
    grep -qx "g $group -" "$lib/sysusers.d/tcasm-userfaultfd.conf" ||
        stop "no file makes the group '$group' of the udev rule"
    if [[ $(systemd-sysusers --help 2>/dev/null) != *--dry-run* ]]; then
        echo "install: making the group: NOT RUN: there is no 'systemd-sysusers --dry-run'"
        return
    fi
    said=$(systemd-sysusers --dry-run --root="$folder" tcasm-userfaultfd.conf 2>&1) ||
        stop "systemd does not accept the group: $said"
    [[ $said == *"group '$group'"* ]] || stop "systemd would not make the group '$group': $said"
}

stop() {
    echo "install: $1" >&2
    exit 1
}

main "$@"
