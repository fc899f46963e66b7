"""Checks the links between the Markdown pages of this repository. Uses no network.

    links.py              checks all pages, and prints FILE:LINE: MESSAGE for each fault
    links.py --files      prints the pages and the files that they link to, which make up the book
    links.py --html DIR   checks the pages of the book in DIR, as mdBook has built it

A link must lead to a file of the repository, and its anchor to a heading of a page. A link to a
folder is a fault, because the book has no page for it. docs/SUMMARY.md must list each page once.
Code has no links. Addresses with a scheme, such as https:, are not fetched.
"""

import collections
import html.parser
import pathlib
import posixpath
import re
import subprocess
import sys
from urllib.parse import unquote

SUMMARY = "docs/SUMMARY.md"
# What docs/performance.md is put together from. These files are no pages.
PARTS = "benches/src/bin/performance."

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)\1(?!`)", re.S)
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.+?)\s*#*$")
LINK = re.compile(
    r"""\]\(\s*<?([^\s()<>]+)>?[^()]*\)      # [text](target "title"), and images
    |^[ ]{0,3}\[[^\]]+\]:\s+(\S+)            # [label]: target
    |<(?:a|img)\s[^>]*?(?:href|src)="([^"]+)"  # HTML
    """,
    re.M | re.X,
)


def without_fences(text):
    """Returns the text with empty lines in place of fenced code."""
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        lines.append("" if fence or mark else line)
        if not fence:
            fence = mark[1] if mark else ""
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
    return "\n".join(lines)


def links(text):
    """Yields the line and the target of each link on a page."""
    text = SPAN.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), without_fences(text))
    for match in LINK.finditer(text):
        target = match[1] or match[2] or match[3]
        yield text.count("\n", 0, match.start()) + 1, target


def slug(heading):
    """Returns the anchor of a heading, which is the same on GitHub and in mdBook: lower case,
    without punctuation, and with a hyphen for each space."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def anchors(text):
    """Returns the anchors of a page. Equal headings are numbered from the second one on."""
    headings = map(HEADING.match, without_fences(text).split("\n"))
    found, seen = set(), collections.Counter()
    for name in (slug(heading[1]) for heading in headings if heading):
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def resolve(page, target):
    """Returns the path that a link on `page` leads to, and its anchor."""
    path, _, anchor = unquote(target).partition("#")
    if not path:
        return page, anchor
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


def broken(pages, files):
    """Yields the faults of the links of `pages`, each with its lines and targets. `files` has the
    anchors of each file."""
    for page, found in pages.items():
        for line, target in found:
            if SCHEME.match(target):
                continue
            path, anchor = resolve(page, target)
            if path not in files and any(name.startswith(f"{path}/") for name in files):
                yield f"{page}:{line}: {path} is a folder; link to a file in it"
            elif path not in files:
                yield f"{page}:{line}: there is no {path}"
            elif anchor and anchor not in files[path]:
                yield f"{page}:{line}: {path} has no heading for #{anchor}"


def is_page(path):
    return path.endswith(".md") and path != SUMMARY and not path.startswith(PARTS)


def without_chapter(files):
    """Yields the faults of the table of contents, and links to Markdown that it cannot list."""
    listed = collections.Counter()
    for line, target in links(files[SUMMARY]):
        path, _ = resolve(SUMMARY, target)
        listed[path] += 1
        if listed[path] == 2:
            yield f"{SUMMARY}:{line}: {path} is listed twice"
        if not is_page(path):
            yield f"{SUMMARY}:{line}: {path} is not a page"
    for page in filter(is_page, files):
        if page not in listed:
            yield f"{page}:1: {SUMMARY} does not list this page"
        for line, target in links(files[page]):
            path, _ = resolve(page, target)
            if path.endswith(".md") and path in files and not is_page(path):
                yield f"{page}:{line}: {path} is not a page of the book"


def check(files):
    """Returns the faults of all pages. `files` has the text of each Markdown file, and an empty
    text for each other file."""
    pages = {path: list(links(files[path])) for path in files if is_page(path) or path == SUMMARY}
    faults = list(broken(pages, {path: anchors(text) for path, text in files.items()}))
    return faults + list(without_chapter(files))


def parts_of_book(files):
    """Returns the pages, and all files that they link to."""
    pages = set(filter(is_page, files))
    targets = ((page, target) for page in pages for _, target in links(files[page]))
    linked = {resolve(page, target)[0] for page, target in targets if not SCHEME.match(target)}
    return pages | linked


class Html(html.parser.HTMLParser):
    """The links and the anchors of a page of the book."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.add(attrs.get("id"))
        target = attrs.get({"a": "href", "img": "src"}.get(tag))
        if target:
            self.links.append((self.getpos()[0], target))


def check_book(folder):
    """Returns the faults of the book in `folder`."""
    root = pathlib.Path(folder)
    paths = [path for path in root.rglob("*") if path.is_file()]
    files = {path.relative_to(root).as_posix(): set() for path in paths}
    pages = {}
    for name in (name for name in files if name.endswith(".html")):
        page = Html((root / name).read_text(encoding="utf-8"))
        files[name], pages[name] = page.anchors, page.links
    return list(broken(pages, files))


def repository():
    """Returns the text of each Markdown file that git tracks or would track, and an empty text for
    each other file."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = [pathlib.Path(name) for name in names if name]
    return {
        path.as_posix(): path.read_text(encoding="utf-8") if path.suffix == ".md" else ""
        for path in paths
        if path.is_file()
    }


def main(arguments):
    if arguments[:1] == ["--html"] and len(arguments) == 2:
        faults = check_book(arguments[1])
    elif arguments == ["--files"]:
        print(*sorted(parts_of_book(repository())), sep="\n")
        return 0
    elif not arguments:
        faults = check(repository())
    else:
        print("usage: links.py [--files | --html DIR]", file=sys.stderr)
        return 2
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
