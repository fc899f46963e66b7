//! Random sequences of lengths, stores and versions against a model.

use super::{create, latest};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tcasm_observer::Version;
use tcasm_producer::{CellType, Producer};
use tcasm_tests::{PublishVisible, name};

/// The fields: the name, the count that its length follows, the largest length, and the bytes of
/// one element.
const FIELDS: [(&str, &str, usize, usize); 6] = [
    ("x", "x", 900, 24),
    ("v", "x", 900, 24),
    ("points", "points", 400, 12),
    ("t", "points", 400, 8),
    ("tets", "tets", 700, 16),
    ("material", "tets", 700, 1),
];

#[derive(Clone, Debug)]
enum Op {
    /// Sets the length of a field, which may be more than there is room for.
    SetLen(usize, usize),
    /// Stores to some bytes of a field, also beyond its length.
    Store { field: usize, at: usize, value: u8 },
    /// Publishes, and pins the version if true.
    Publish(bool),
    /// Releases one of the pinned versions.
    Unpin(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let len = prop_oneof![3 => 0usize..1000, 1 => Just(0)];
    let store = (0..FIELDS.len(), 0usize..20_000, any::<u8>());
    let op = prop_oneof![
        4 => (0..FIELDS.len(), len).prop_map(|(field, len)| Op::SetLen(field, len)),
        4 => store.prop_map(|(field, at, value)| Op::Store { field, at, value }),
        3 => any::<bool>().prop_map(Op::Publish),
        1 => (0usize..4).prop_map(Op::Unpin),
    ];
    proptest::collection::vec(op, 1..40)
}

/// The content of a version: the bytes of each field, as many as its length says.
type Content = Vec<Vec<u8>>;

/// The lengths of the counts, and the memory of each field.
struct Model {
    lens: BTreeMap<&'static str, usize>,
    memory: Vec<Vec<u8>>,
}

impl Model {
    fn new() -> Model {
        Model {
            lens: FIELDS.map(|(_, count, ..)| (count, 0)).into(),
            memory: FIELDS.map(|(_, _, most, size)| vec![0; most * size]).into(),
        }
    }

    fn content(&self) -> Content {
        let mut content = Content::new();
        for ((_, count, _, size), bytes) in FIELDS.iter().zip(&self.memory) {
            content.push(bytes[..self.lens[*count] * size].to_vec());
        }
        content
    }
}

fn region(name: &str) -> Producer {
    let mut p = create(name);
    let x = p.field::<f64, _>("x", [900, 3]).vector().variable();
    let x = x.add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    let v = p.field::<f64, _>("v", [900, 3]).vector().variable();
    v.on(&atoms).add().unwrap();
    let points = p.field::<f32, _>("points", [400, 3]).vector().variable();
    let points = points.add().unwrap();
    let tets = p.field::<u32, _>("tets", [700, 4]).vector().variable();
    let tets = tets.add().unwrap();
    let body = p.unstructured_mesh("body", &points, CellType::TETRA, &tets);
    let body = body.add().unwrap();
    let t = p.field::<f64, _>("t", [400]).variable().on(&body);
    t.add().unwrap();
    let material = p.field::<u8, _>("material", [700]).variable();
    material.cell_centred().on(&body).add().unwrap();
    p
}

/// Checks that a version has exactly this content.
fn check(version: &Version, content: &[Vec<u8>]) {
    let view = version.view().unwrap();
    for ((name, _, _, size), expected) in FIELDS.iter().zip(content) {
        let field = version.field(name).unwrap();
        assert_eq!(field.length() * size, expected.len(), "{name}");
        assert_eq!(view.bytes(name).unwrap(), expected, "{name}");
    }
}

fn run(ops: &[Op]) {
    let mut p = region(&name("sequences"));
    let mut model = Model::new();
    let mut pinned: Vec<(Version, Content)> = Vec::new();
    for op in ops {
        match op {
            Op::SetLen(field, len) => {
                let (name, count, most, _) = FIELDS[*field];
                let set = p.set_len(name, *len);
                assert_eq!(set.is_ok(), *len <= most, "{set:?}");
                if set.is_ok() {
                    model.lens.insert(count, *len);
                }
            }
            Op::Store { field, at, value } => {
                let memory = &mut model.memory[*field];
                let range = at % memory.len()..(at % memory.len() + 300).min(memory.len());
                memory[range.clone()].fill(*value);
                p.field_bytes_mut(FIELDS[*field].0).unwrap()[range].fill(*value);
            }
            Op::Publish(pin) => {
                let receipt = p.publish_visible(0, 0.0).unwrap();
                assert!(receipt.version().is_some(), "{receipt:?}");
                check(&latest(&p), &model.content());
                if *pin && pinned.len() < 4 {
                    pinned.push((latest(&p), model.content()));
                }
            }
            Op::Unpin(which) if !pinned.is_empty() => {
                pinned.swap_remove(which % pinned.len());
            }
            Op::Unpin(_) => {}
        }
        for (version, content) in &pinned {
            check(version, content);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn versions_have_the_lengths_and_bytes_that_they_were_published_with(ops in ops()) {
        run(&ops);
    }
}
