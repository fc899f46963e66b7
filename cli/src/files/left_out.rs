//! Fields that a file has for TCASM only, because its layout has no place for them.

use std::collections::BTreeMap;
use tcasm_checkpoint::{Layout, Options, left_out_of_openpmd};
use tcasm_core::field::FieldTable;

/// Returns a note on the fields of `table` that have no place in the layout of `options`, if there
/// are some.
pub fn note(options: &Options, table: &FieldTable) -> Option<String> {
    match options.layout {
        Layout::OpenPmd => of_openpmd(table),
        Layout::VtkHdf => None,
    }
}

/// Does the same for an openPMD file.
pub fn of_openpmd(table: &FieldTable) -> Option<String> {
    let left_out = left_out_of_openpmd(table);
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, why) in &left_out {
        reasons.entry(*why).or_default().push(name);
    }
    let parts = reasons.iter().map(|(why, names)| {
        let names = names.join(", ");
        format!("{names} ({why})")
    });
    let parts = parts.collect::<Vec<_>>().join("; ");
    let rest = "TCASM and h5py find them under /tcasm";
    (!parts.is_empty()).then(|| format!("not stored for openPMD: {parts}; {rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::{DType, FieldDesc};

    #[test]
    fn fields_without_a_place_are_named_with_the_reason() {
        let mut table = FieldTable::default();
        let mut add = |name: &str, dtype| {
            table.fields.push(FieldDesc::new(name, dtype, &[3]));
            of_openpmd(&table)
        };
        assert_eq!(add("t", DType::F64), None);
        add("psi", DType::C64);
        let text = add("phi", DType::C32).unwrap();
        assert!(text.contains("openPMD: psi, phi ("), "{text}");
        let note = |layout| {
            let options = Options {
                layout,
                ..Options::default()
            };
            note(&options, &table)
        };
        assert_eq!(note(Layout::OpenPmd), Some(text));
        assert_eq!(note(Layout::VtkHdf), None);
    }
}
