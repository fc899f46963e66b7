//! Random sequences of lengths, stores, bindings, rollbacks and versions against a model. The
//! region has meshes of each kind whose size can change.

use super::create;
use super::versions::{self, HISTORY, Versions};
use ndarray::Ix2;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tcasm_observer::Version;
use tcasm_producer::{Buffer, CellType, Field, Producer};
use tcasm_tests::name;

/// The relation of the length of a field to a count.
#[derive(Clone, Copy, PartialEq)]
enum Relation {
    /// The length is the count.
    Same,
    /// The length is one more: the offsets of cells.
    OneMore,
    /// The length is the number of cells between so many points.
    Cells,
}

impl Relation {
    fn len(self, count: usize) -> usize {
        match (self, count) {
            (Relation::OneMore, _) => count + 1,
            (Relation::Cells, 2..) => count - 1,
            _ => count,
        }
    }

    /// Returns the count that a length sets.
    fn count(self, len: usize) -> usize {
        match (self, len) {
            (Relation::OneMore, _) => len - 1,
            (Relation::Cells, 1..) => len + 1,
            _ => len,
        }
    }
}

/// The fields: the name, the count that the length follows, and how, the largest length, and the
/// bytes of one element along the slowest axis.
const FIELDS: [(&str, &str, Relation, usize, usize); 16] = [
    ("x", "atoms", Relation::Same, 900, 24),
    ("tets", "tets", Relation::Same, 700, 16),
    ("v", "atoms", Relation::Same, 900, 24),
    ("points", "points", Relation::Same, 400, 12),
    ("t", "points", Relation::Same, 400, 8),
    ("material", "tets", Relation::Same, 700, 1),
    ("nodes", "nodes", Relation::Same, 50, 24),
    ("ids", "ids", Relation::Same, 400, 8),
    ("offsets", "cells", Relation::OneMore, 41, 8),
    ("types", "cells", Relation::Same, 40, 1),
    ("p", "cells", Relation::Same, 40, 4),
    ("y", "rows", Relation::Same, 60, 8),
    ("on-rows", "rows", Relation::Same, 60, 24),
    ("between-rows", "rows", Relation::Cells, 59, 16),
    ("at", "layers", Relation::Same, 50, 72),
    ("on-layers", "layers", Relation::Same, 50, 12),
];

/// The number of the first fields that have two buffers: `x` and `tets`.
const SWAPPED: usize = 2;

#[derive(Clone, Debug)]
enum Op {
    /// Sets the length of a field, which may be more than there is room for.
    SetLen(usize, usize),
    /// Stores to some bytes of a field, also beyond its length.
    Store { field: usize, at: usize, value: u8 },
    /// Binds a field to its other buffer.
    Bind(usize),
    /// Publishes, and pins the version if true.
    Publish(bool),
    /// Rolls back to one of the last versions.
    Rollback(usize),
    /// Releases one of the pinned versions.
    Unpin(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let set_len = (0..FIELDS.len()).prop_flat_map(|field| {
        let most = FIELDS[field].3;
        let len = prop_oneof![3 => 0..=most + most / 8, 1 => 0usize..=2];
        len.prop_map(move |len| Op::SetLen(field, len))
    });
    let store = (0..FIELDS.len(), 0usize..20_000, any::<u8>());
    let op = prop_oneof![
        6 => set_len,
        6 => store.prop_map(|(field, at, value)| Op::Store { field, at, value }),
        2 => (0..SWAPPED).prop_map(Op::Bind),
        4 => any::<bool>().prop_map(Op::Publish),
        2 => (0..HISTORY).prop_map(Op::Rollback),
        1 => (0usize..4).prop_map(Op::Unpin),
    ];
    proptest::collection::vec(op, 1..50)
}

/// The counts, and the memory of each field, of which versions have as much as the length says.
#[derive(Clone)]
struct State {
    counts: BTreeMap<&'static str, usize>,
    memory: Vec<Vec<u8>>,
}

impl State {
    fn new() -> State {
        State {
            counts: FIELDS.map(|(_, count, ..)| (count, 0)).into(),
            memory: FIELDS.map(|(.., most, size)| vec![0; most * size]).into(),
        }
    }

    fn len(&self, field: usize) -> usize {
        let (_, count, relation, ..) = FIELDS[field];
        relation.len(self.counts[count])
    }
}

impl versions::State for State {
    fn check(&self, version: &Version) {
        let view = version.view().unwrap();
        for (field, (name, _, _, _, size)) in FIELDS.iter().enumerate() {
            let len = self.len(field);
            assert_eq!(version.field(name).unwrap().length(), len, "{name}");
            let expected = &self.memory[field][..len * size];
            assert_eq!(view.bytes(name).unwrap(), expected, "{name}");
        }
    }
}

/// A region, and the model of it.
struct Run {
    p: Producer,
    x: Field<f64, Ix2>,
    tets: Field<u32, Ix2>,
    /// The buffers that `x` and `tets` are not bound to.
    next: (Buffer<f64, Ix2>, Buffer<u32, Ix2>),
    state: State,
    /// The memory of the buffers `next`.
    spare: [Vec<u8>; SWAPPED],
    versions: Versions<State>,
}

impl Run {
    fn new() -> Run {
        let mut p = create(&name("sequences"));
        let x = add_particles(&mut p);
        let tets = add_tetrahedra(&mut p);
        add_mixed(&mut p);
        add_structured(&mut p);
        let next = (p.buffer_like(x).unwrap(), p.buffer_like(tets).unwrap());
        let state = State::new();
        Run {
            p,
            x,
            tets,
            next,
            spare: [0, 1].map(|field| state.memory[field].clone()),
            state,
            versions: Versions::new(),
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::SetLen(field, len) => self.set_len(*field, *len),
            Op::Store { field, at, value } => self.store(*field, *at, *value),
            Op::Bind(field) => self.bind(*field),
            Op::Publish(pin) => self.versions.publish(&mut self.p, &self.state, *pin),
            Op::Rollback(which) => self.rollback(*which),
            Op::Unpin(which) => self.versions.unpin(*which),
        }
        for (field, (name, ..)) in FIELDS.iter().enumerate() {
            assert_eq!(self.p.len(*name).unwrap(), self.state.len(field), "{name}");
        }
        self.versions.check();
    }

    fn set_len(&mut self, field: usize, len: usize) {
        let (name, count, relation, most, _) = FIELDS[field];
        let set = self.p.set_len(name, len);
        // There is always an offset: that of the end.
        let fits = len <= most && (relation != Relation::OneMore || len > 0);
        assert_eq!(set.is_ok(), fits, "{name}, {len}: {set:?}");
        if fits && len != self.state.len(field) {
            self.state.counts.insert(count, relation.count(len));
        }
    }

    fn store(&mut self, field: usize, at: usize, value: u8) {
        let memory = &mut self.state.memory[field];
        let range = at % memory.len()..(at % memory.len() + 300).min(memory.len());
        memory[range.clone()].fill(value);
        self.p.field_bytes_mut(FIELDS[field].0).unwrap()[range].fill(value);
    }

    fn bind(&mut self, field: usize) {
        match field {
            0 => self.next.0 = self.p.bind(self.x, self.next.0).unwrap(),
            _ => self.next.1 = self.p.bind(self.tets, self.next.1).unwrap(),
        }
        std::mem::swap(&mut self.state.memory[field], &mut self.spare[field]);
    }

    /// Restores lengths and memory, also beyond the lengths, in the buffers that are bound now.
    fn rollback(&mut self, which: usize) {
        if let Some(state) = self.versions.rollback(&mut self.p, which) {
            self.state = state;
        }
    }
}

fn add_particles(p: &mut Producer) -> Field<f64, Ix2> {
    let x = p.field::<f64, _>("x", [900, 3]).vector().variable();
    let x = x.add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    let v = p.field::<f64, _>("v", [900, 3]).vector().variable();
    v.on(&atoms).add().unwrap();
    x
}

fn add_tetrahedra(p: &mut Producer) -> Field<u32, Ix2> {
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
    tets
}

fn add_mixed(p: &mut Producer) {
    let nodes = p.field::<f64, _>("nodes", [50, 3]).vector().variable();
    let nodes = nodes.add().unwrap();
    let ids = p.field::<i64, _>("ids", [400]).variable().add().unwrap();
    let offsets = p.field::<i64, _>("offsets", [41]).variable().add().unwrap();
    let types = p.field::<u8, _>("types", [40]).variable().add().unwrap();
    let mixed = p.mixed_mesh("mixed", &nodes, &ids, &offsets, &types);
    let mixed = mixed.add().unwrap();
    let pressure = p.field::<f32, _>("p", [40]).variable().cell_centred();
    pressure.on(&mixed).add().unwrap();
}

/// Adds a rectilinear and a curvilinear mesh, which grow along their slowest axis.
fn add_structured(p: &mut Producer) {
    let along = p.field::<f64, _>("along-x", [3]).add().unwrap();
    let y = p.field::<f64, _>("y", [60]).variable().add().unwrap();
    let rows = p.rectilinear_mesh("rows", &[along, y]).add().unwrap();
    let on = p.field::<f64, _>("on-rows", [3, 60]).fortran_order();
    on.variable().on(&rows).add().unwrap();
    let between = p.field::<f64, _>("between-rows", [59, 2]).variable();
    between.cell_centred().on(&rows).add().unwrap();
    let at = p.field::<f64, _>("at", [50, 3, 3]).vector().variable();
    let at = at.add().unwrap();
    let layers = p.curvilinear_mesh("layers", &at).add().unwrap();
    let on = p.field::<f32, _>("on-layers", [50, 3]).variable();
    on.on(&layers).add().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn versions_have_the_lengths_and_bytes_that_they_were_published_with(ops in ops()) {
        let mut run = Run::new();
        for op in &ops {
            run.step(op);
        }
    }
}
