//! Measure what must be reached: `bars [GROUP,...]` prints a table.

use tcasm_benches::bars::{GROUPS, HEAD};

fn main() {
    let wanted = std::env::args().nth(1);
    let wanted = |name: &str| {
        wanted
            .as_deref()
            .is_none_or(|w| w.split(',').any(|w| w == name))
    };
    println!("{HEAD}");
    for (_, measure) in GROUPS.iter().filter(|(name, _)| wanted(name)) {
        measure().iter().for_each(|bar| println!("{bar}"));
    }
}
