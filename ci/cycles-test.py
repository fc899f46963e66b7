"""Tests ci/cycles.py: imports of each kind are found in small packages, and nothing else is."""

import unittest

import cycles


def groups(**files):
    """Returns the groups of modules that import each other. `files` has the text of each file; an
    underscore in its name stands for a slash."""
    files = {f"{name.replace('_', '/')}.rs": text for name, text in files.items()}
    imports = cycles.Package({"lib.rs": "", **files}).imports()
    return [["/".join(module) for module in group] for group in cycles.cycles(imports)]


class Cycles(unittest.TestCase):
    def test_imports_in_one_direction_are_no_cycle(self):
        a = "use crate::b::{self, c::C, D as E};\nuse std::{fs, io::{self, Read}};"
        self.assertEqual(groups(a=a, b="pub mod c;", b_c="use super::F;"), [])

    def test_cycle_is_found_through_each_kind_of_import(self):
        for b in [
            "use crate::a::A;",
            "use super::{\n    x::X,\n    a::{A, inner::{Y, Z}},\n};",
            "use crate::a;",
            "use crate::a as other;\nfn f() { other::f(); }",
            "use crate::a::*;",
            "fn f() -> crate::a::A {}",
            "impl super::a::A {}",
        ]:
            self.assertEqual(groups(a="use crate::b::B;", b=b), [["a", "b"]], b)

    def test_cycle_of_three_modules_is_one_group(self):
        files = {"a": "use crate::b::B;", "b": "use crate::c::C;", "c": "use crate::a::A;"}
        self.assertEqual(groups(**files, d="use crate::a::A;"), [["a", "b", "c"]])

    def test_re_export_leads_to_the_module_that_defines_the_name(self):
        p = "mod a;\nmod b;\npub(crate) use a::A;\npub use b::f as g;"
        self.assertEqual(groups(p_mod=p, p_a="use super::g;", p_b=""), [])
        both = groups(p_mod=p, p_a="use super::g;", p_b="use super::A;")
        self.assertEqual(both, [["p/a", "p/b"]])

    def test_parent_that_uses_its_child_is_no_table_of_contents(self):
        for p in ["use a::A;", "fn f() { a::f(); }"]:
            self.assertEqual(groups(p=f"mod a;\n{p}", p_a="use super::P;"), [["p", "p/a"]], p)
        extended = "impl super::P { fn f(&self) {} }"
        self.assertEqual(groups(p="mod a;\nfn g(p: &P) { p.f(); }", p_a=extended), [])

    def test_tests_and_text_import_nothing(self):
        for b in [
            "// use crate::a::A;",
            'const TEXT: &str = "use crate::a::A; {";',
            "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
            "#[cfg(test)]\nuse crate::a::{A, C};",
            "struct S {\n    #[cfg(test)]\n    made: crate::a::A,\n}",
        ]:
            self.assertEqual(groups(a="use crate::b::B;", b=b), [], b)
        hidden = {"b": "#[cfg(test)]\nmod tests;", "b_tests": "use crate::a::A;\nuse super::B;"}
        self.assertEqual(groups(a="use crate::b::tests::T;", **hidden), [])

    def test_code_after_tests_and_lifetimes_counts(self):
        b = "#[cfg(test)]\nmod tests {\n    fn f<'a>(c: &'a str) -> char { '{' }\n}\n"
        b += "use crate::a::A;"
        self.assertEqual(groups(a="use crate::b::B;", b=b), [["a", "b"]])

    def test_fault_names_the_modules_and_their_imports(self):
        files = {"a.rs": "use crate::b::B;", "b.rs": "use crate::a::A;", "lib.rs": ""}
        first, *edges = cycles.faults("core", files)
        self.assertEqual(first, "core/src: these modules import each other: a, b")
        self.assertEqual(edges, ["    a imports b", "    b imports a"])


if __name__ == "__main__":
    unittest.main()
