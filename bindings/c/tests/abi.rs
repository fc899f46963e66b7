//! Programs that are compiled already keep working: what they were compiled with is in `abi.txt`,
//! and stays in the headers. `TCASM_UPDATE=1` adds new items and new members to the list. It never
//! changes what the list has. To break programs on purpose, edit it by hand.

use std::collections::BTreeMap;

const LIST: &str = "tests/abi.txt";

#[test]
fn items_of_the_headers_stay_as_they_were() {
    let listed: BTreeMap<_, _> = read(LIST).lines().filter_map(named).collect();
    let found = items();
    for (name, item) in &listed {
        let now = found.get(name).map_or("nothing", String::as_str);
        assert!(is_still(item, now), "{name} was `{item}`, and is `{now}`");
    }
    if std::env::var_os("TCASM_UPDATE").is_some() {
        let lines = found.values().map(|item| format!("{item}\n"));
        std::fs::write(LIST, lines.collect::<String>()).unwrap();
    }
    let listed: BTreeMap<_, _> = read(LIST).lines().filter_map(named).collect();
    let lacks = found
        .iter()
        .filter(|(name, item)| listed.get(*name) != Some(*item));
    let lacks: Vec<_> = lacks.map(|(name, _)| name).collect();
    assert!(
        lacks.is_empty(),
        "{LIST} lacks {lacks:?}: TCASM_UPDATE=1 cargo test -p tcasm-c --test abi adds them"
    );
}

#[test]
fn structures_may_grow_and_nothing_else() {
    let structure = "typedef struct a { size_t size; int b; } a;";
    assert!(is_still(
        structure,
        "typedef struct a { size_t size; int b; int c; } a;"
    ));
    assert!(!is_still(
        structure,
        "typedef struct a { size_t size; int c; int b; } a;"
    ));
    assert!(!is_still(structure, "typedef struct a { size_t size; } a;"));
    let fixed = "typedef struct b { void *address; size_t bytes; } b;";
    assert!(is_still(fixed, fixed));
    assert!(!is_still(
        fixed,
        "typedef struct b { void *address; size_t bytes; int c; } b;"
    ));
    assert!(is_still("#define TCASM_A 1", "#define TCASM_A 1"));
    assert!(!is_still("#define TCASM_A 1", "#define TCASM_A 12"));
    assert!(!is_still(
        "int tcasm_a(int b);",
        "int tcasm_a(int b, int c);"
    ));
}

/// Returns true if programs that were compiled with `old` can use `new`. Only structures that begin
/// with their size can grow.
fn is_still(old: &str, new: &str) -> bool {
    match old.rsplit_once('}') {
        Some((members, _)) if old.contains("{ size_t size;") => new.starts_with(members),
        _ => old == new,
    }
}

/// Returns the numbers, structures and functions of the headers, each in a line, by their names.
fn items() -> BTreeMap<String, String> {
    let headers = ["include/tcasm.h", "include/tcasm_files.h"];
    let headers = headers.map(|path| std::fs::read_to_string(path).unwrap());
    let blocks = headers.iter().flat_map(|header| header.split("\n\n"));
    blocks
        .map(without_comments)
        .filter_map(|item| named(&item))
        .collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns an item in a line, without its comments.
fn without_comments(item: &str) -> String {
    let mut code = String::new();
    let mut rest = item;
    while let Some((before, after)) = rest.split_once("/*") {
        code.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns an item with its name, if it is one that programs are compiled with.
fn named(item: &str) -> Option<(String, String)> {
    let name = if let Some(number) = item.strip_prefix("#define TCASM_") {
        // The guard of a header has no value.
        let (name, _) = number.split_once(' ')?;
        format!("TCASM_{name}")
    } else if item.starts_with("typedef struct") && item.contains('{') {
        item.trim_end_matches(';').rsplit(' ').next()?.to_owned()
    } else if let Some(function) = item.strip_prefix("typedef int (*") {
        function.split(')').next()?.to_owned()
    } else {
        let (head, _) = item.split_once('(')?;
        head.rsplit([' ', '*']).next()?.to_owned()
    };
    name.to_lowercase()
        .starts_with("tcasm_")
        .then(|| (name, item.to_owned()))
}
