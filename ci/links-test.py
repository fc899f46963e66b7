"""Tests ci/links.py: each kind of fault is found in a small book, and nothing else is."""

import pathlib
import tempfile
import unittest

import links

BOOK = {
    "docs/SUMMARY.md": "# Contents\n\n[A](../README.md)\n\n# Part\n\n- [B](b.md)\n",
    "docs/b.md": "# B\n\n## Two `words`, (2)\n\n## Twice\n\n## Twice\n\n![f](f.png)\n",
    "docs/f.png": "",
    "src/main.rs": "",
}


def faults(readme, **others):
    """Returns the faults of the book with this README.md, and with these files in docs/."""
    others = {f"docs/{name}.md": text for name, text in others.items()}
    return links.check({**BOOK, "README.md": readme, **others})


class Links(unittest.TestCase):
    def test_good_links_are_no_faults(self):
        good = ["docs/b.md", "docs/b.md#two-words-2", "docs/b.md#twice-1", "src/main.rs", "#a"]
        good += ["https://example.org/x", "mailto:a@example.org", "docs/../README.md"]
        self.assertEqual(faults("# A\n" + "".join(f"[x]({target})\n" for target in good)), [])

    def test_missing_file_is_reported_with_its_line(self):
        self.assertEqual(faults("# A\n\n[b](docs/c.md)"), ["README.md:3: there is no docs/c.md"])

    def test_missing_image_and_labelled_link_are_reported(self):
        self.assertEqual(len(faults("![x](x.png)\n\n[l][m]\n\n[m]: y.md\n")), 2)

    def test_link_out_of_the_repository_is_reported(self):
        self.assertEqual(faults("[x](../x.md)"), ["README.md:1: there is no ../x.md"])

    def test_missing_heading_is_reported(self):
        for target in ["docs/b.md#three", "docs/b.md#twice-2", "#b", "src/main.rs#L1"]:
            (fault,) = faults(f"# A\n[b]({target})")
            self.assertIn("has no heading", fault)

    def test_folder_is_reported(self):
        (fault,) = faults("[x](docs/)")
        self.assertIn("docs is a folder", fault)

    def test_code_has_neither_links_nor_headings(self):
        code = "```rust\n# A\n[x](x)\n```\n\n`[x](x)` and `[x]\n(x)[y](y)`\n"
        code += "\n~~~\n```\n[x](x)\n~~~\n"
        self.assertEqual(faults(code), [])
        self.assertEqual(len(faults(code + "[a](#a)")), 1)

    def test_link_in_a_wrapped_text_is_found(self):
        self.assertEqual(faults("[two\nlines](x.md)"), ["README.md:2: there is no x.md"])

    def test_page_that_is_not_listed_is_reported(self):
        (fault,) = faults("", c="# C")
        self.assertEqual(fault, "docs/c.md:1: docs/SUMMARY.md does not list this page")

    def test_page_that_is_listed_twice_is_reported(self):
        (fault,) = faults("", SUMMARY=BOOK["docs/SUMMARY.md"] + "- [B](../docs/b.md)\n")
        self.assertEqual(fault, "docs/SUMMARY.md:8: docs/b.md is listed twice")

    def test_only_pages_are_listed(self):
        (fault,) = faults("", SUMMARY=BOOK["docs/SUMMARY.md"] + "- [C](../src/main.rs)\n")
        self.assertIn("src/main.rs is not a page", fault)

    def test_link_to_the_table_of_contents_is_reported(self):
        (fault,) = faults("[x](docs/SUMMARY.md)")
        self.assertIn("not a page of the book", fault)

    def test_book_is_made_of_pages_and_of_what_they_link_to(self):
        files = {**BOOK, "README.md": "[x](src/main.rs)", "LICENSE": ""}
        parts = {"README.md", "docs/b.md", "docs/f.png", "src/main.rs"}
        self.assertEqual(links.parts_of_book(files), parts)

    def test_broken_links_of_the_built_book_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "a.html")
            page.write_text('<h1 id="a">A</h1>\n<a href="a.html#a">a</a>', encoding="utf-8")
            self.assertEqual(links.check_book(folder), [])
            page.write_text('<h1 id="a">A</h1>\n<a href="b.html">b</a>\n<a href="#b">c</a>')
            broken = ["a.html:2: there is no b.html", "a.html:3: a.html has no heading for #b"]
            self.assertEqual(links.check_book(folder), broken)


if __name__ == "__main__":
    unittest.main()
