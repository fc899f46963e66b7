//! Random sequences of blocks that are placed, unused and used again, of stores, rollbacks and
//! versions, against a model; and restarts with such blocks.

use super::versions::{self, HISTORY, State as _, Versions};
use super::{create, latest};
use proptest::prelude::*;
use tcasm_checkpoint::{Checkpoint, Options, Snapshot};
use tcasm_observer::Version;
use tcasm_producer::{Block, MeshDesc, MeshHandle, MeshKind, Producer};
use tcasm_restart::{Load, rebuild};
use tcasm_tests::{PublishVisible, name};

/// The number of blocks.
const BLOCKS: usize = 3;

/// The points of a block along each axis; along z that is the largest number.
const SIDE: usize = 5;

/// The bytes of a layer of a field on points, and of one in cells with ghost layers.
const LAYER: [usize; 2] = [SIDE * SIDE * 8, (SIDE + 1) * (SIDE + 1) * 4];

/// The largest lengths of both fields.
const MOST: [usize; 2] = [SIDE, SIDE + 1];

#[derive(Clone, Debug)]
enum Op {
    /// Places a block, with so many layers of points, which may be more than there is room for.
    Place { block: usize, layers: usize, at: i8 },
    /// Places all blocks at once.
    PlaceAll(i8),
    /// Makes a block unused.
    Unuse(usize),
    /// Stores to some bytes of a field, also beyond its length.
    Store { field: usize, at: usize, value: u8 },
    /// Publishes, and pins the version if true.
    Publish(bool),
    /// Rolls back to one of the last versions.
    Rollback(usize),
    /// Releases one of the pinned versions.
    Unpin(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let place = (0..BLOCKS, 0..=SIDE + 1, any::<i8>());
    let store = (0..2 * BLOCKS, 0_usize..2000, any::<u8>());
    let op = prop_oneof![
        5 => place.prop_map(|(block, layers, at)| Op::Place { block, layers, at }),
        1 => any::<i8>().prop_map(Op::PlaceAll),
        3 => (0..BLOCKS).prop_map(Op::Unuse),
        6 => store.prop_map(|(field, at, value)| Op::Store { field, at, value }),
        4 => any::<bool>().prop_map(Op::Publish),
        2 => (0..HISTORY).prop_map(Op::Rollback),
        1 => (0_usize..4).prop_map(Op::Unpin),
    ];
    proptest::collection::vec(op, 1..50)
}

/// Returns a block with so many layers of points, at a place that follows from `at`.
fn described(block: usize, layers: usize, at: i8) -> MeshDesc {
    let place = Block {
        of: "gas".to_owned(),
        level: u32::from(at.unsigned_abs()),
        refinement: [2; 3],
        offset: [i64::from(at), 0, -1],
    };
    MeshDesc {
        name: format!("b{block}"),
        kind: MeshKind::Uniform {
            points: [SIDE, SIDE, layers],
            origin: [f64::from(at), 0.0, 1.0],
            spacing: [0.5 + f64::from(at).abs(); 3],
        },
        block: Some(place),
        attrs: Default::default(),
    }
}

/// Returns the points of a block along x, y and z.
fn points(mesh: &mut MeshDesc) -> &mut [usize; 3] {
    match &mut mesh.kind {
        MeshKind::Uniform { points, .. } => points,
        other => panic!("{other:?}"),
    }
}

/// Returns the name of a field. Each block has one on points, then one in cells.
fn field_name(field: usize) -> String {
    format!("{}{}", ["p", "c"][field % 2], field / 2)
}

/// The meshes, and the memory of each field, of which versions have as much as the mesh says.
#[derive(Clone)]
struct State {
    meshes: Vec<MeshDesc>,
    memory: Vec<Vec<u8>>,
}

impl State {
    fn new() -> State {
        let memory = |field: usize| vec![0; MOST[field % 2] * LAYER[field % 2]];
        State {
            meshes: (0..BLOCKS).map(|block| described(block, SIDE, 0)).collect(),
            memory: (0..2 * BLOCKS).map(memory).collect(),
        }
    }

    /// Returns the length of a field: points, or cells and their two ghost layers, if there are
    /// any.
    fn len(&self, field: usize) -> usize {
        let layers = points(&mut self.meshes[field / 2].clone())[2];
        match (field % 2, layers) {
            (0, _) | (_, 0) => layers,
            (_, 1) => 3,
            _ => layers - 1 + 2,
        }
    }
}

impl versions::State for State {
    fn check(&self, version: &Version) {
        for mesh in &self.meshes {
            assert_eq!(version.table().mesh(&mesh.name), Some(mesh));
        }
        let view = version.view().unwrap();
        for field in 0..2 * BLOCKS {
            let (name, len) = (field_name(field), self.len(field));
            assert_eq!(version.field(&name).unwrap().length(), len, "{name}");
            let expected = &self.memory[field][..len * LAYER[field % 2]];
            assert_eq!(view.bytes(&name).unwrap(), expected, "{name}");
        }
        let level = |mesh: &&MeshDesc| mesh.block.as_ref().map(|block| block.level);
        let blocks = version.table().blocks("gas");
        assert_eq!(blocks.len(), BLOCKS);
        assert!(blocks.is_sorted_by_key(|mesh| (level(mesh), mesh.name.clone())));
    }
}

/// A region, and the model of it.
struct Run {
    p: Producer,
    blocks: Vec<MeshHandle>,
    state: State,
    versions: Versions<State>,
}

impl Run {
    fn new(name: &str) -> Run {
        let mut p = create(name);
        Run {
            blocks: (0..BLOCKS).map(|block| add_block(&mut p, block)).collect(),
            p,
            state: State::new(),
            versions: Versions::new(),
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Place { block, layers, at } => self.place(*block, *layers, *at),
            Op::PlaceAll(at) => self.place_all(*at),
            Op::Unuse(block) => self.unuse(*block),
            Op::Store { field, at, value } => self.store(*field, *at, *value),
            Op::Publish(pin) => self.versions.publish(&mut self.p, &self.state, *pin),
            Op::Rollback(which) => self.rollback(*which),
            Op::Unpin(which) => self.versions.unpin(*which),
        }
        for field in 0..2 * BLOCKS {
            let name = field_name(field);
            let len = self.p.len(name.as_str()).unwrap();
            assert_eq!(len, self.state.len(field), "{name}");
        }
        self.versions.check();
    }

    fn place(&mut self, block: usize, layers: usize, at: i8) {
        let asked = described(block, layers, at);
        let MeshKind::Uniform {
            points,
            origin,
            spacing,
        } = asked.kind
        else {
            panic!("{asked:?}");
        };
        let mesh = self.blocks[block];
        let placed = self.p.set_uniform_mesh(&mesh, points, origin, spacing);
        assert_eq!(placed.is_ok(), layers <= SIDE, "{layers}: {placed:?}");
        if placed.is_ok() {
            let place = asked.block.clone().unwrap();
            self.p.set_block(&mesh, place).unwrap();
            self.state.meshes[block] = asked;
        }
    }

    fn place_all(&mut self, at: i8) {
        let meshes = (0..BLOCKS).map(|block| described(block, SIDE - block, at));
        let meshes: Vec<MeshDesc> = meshes.collect();
        self.p.redefine_meshes(&meshes).unwrap();
        self.state.meshes = meshes;
    }

    fn unuse(&mut self, block: usize) {
        self.p.set_unused(&self.blocks[block]).unwrap();
        points(&mut self.state.meshes[block])[2] = 0;
    }

    fn store(&mut self, field: usize, at: usize, value: u8) {
        let memory = &mut self.state.memory[field];
        let range = at % memory.len()..(at % memory.len() + 300).min(memory.len());
        memory[range.clone()].fill(value);
        let bytes = self.p.field_bytes_mut(&field_name(field)).unwrap();
        bytes[range].fill(value);
    }

    fn rollback(&mut self, which: usize) {
        if let Some(state) = self.versions.rollback(&mut self.p, which) {
            self.state = state;
        }
    }
}

/// Adds a block whose size may change, with a field on its points and one with ghost layers in its
/// cells.
fn add_block(p: &mut Producer, block: usize) -> MeshHandle {
    let MeshDesc {
        name, block: place, ..
    } = described(block, SIDE, 0);
    let mesh = p.uniform_mesh(&name, [SIDE; 3], [0.0, 0.0, 1.0], [0.5; 3]);
    let mesh = mesh.block(place.unwrap()).add().unwrap();
    let on = p.field::<f64, _>(&field_name(2 * block), [SIDE; 3]);
    on.variable().on(&mesh).quantity("p").add().unwrap();
    let cells = p.field::<f32, _>(&field_name(2 * block + 1), [SIDE + 1; 3]);
    let cells = cells.ghosts(&[[1, 1]; 3]).cell_centred().variable();
    cells.on(&mesh).quantity("c").add().unwrap();
    mesh
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn versions_have_blocks_where_they_were_published(ops in ops()) {
        let mut run = Run::new(&name("placing"));
        for op in &ops {
            run.step(op);
        }
    }
}

/// Returns a version with blocks that have moved, one of which is unused, of a producer that is
/// gone: its memory was mapped at the address in this process.
fn moved() -> (Version, State) {
    let mut run = Run::new(&name("moved"));
    run.place(0, 3, 7);
    run.place(1, SIDE, -2);
    run.unuse(1);
    for field in 0..2 * BLOCKS {
        run.store(field, 100 * field, field as u8 + 1);
    }
    run.step(&Op::Publish(false));
    (latest(&run.p), run.state.clone())
}

#[test]
fn restart_from_memory_or_a_file_has_blocks_where_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("moved.vtkhdf");
    let (version, state) = moved();
    {
        let view = version.view().unwrap();
        let snapshot = Snapshot::new("moved", version.stamp(), version.table(), |field| {
            view.bytes(&field.name).unwrap()
        });
        tcasm_checkpoint::write(&path, &snapshot, &Options::default()).unwrap();
    }
    let check = |mut p: Producer| {
        p.publish_visible(9, 9.0).unwrap();
        state.check(&latest(&p));
        // The block that was unused can be used again, as large as before.
        let block = p.mesh_handle("b1").unwrap();
        p.set_uniform_mesh(&block, [SIDE; 3], [0.0; 3], [1.0; 3])
            .unwrap();
        assert_eq!(["p1", "c1"].map(|field| p.len(field).unwrap()), MOST);
    };
    check(rebuild(Producer::builder(&name("memory")), &version).unwrap());
    let checkpoint = Checkpoint::open(&path).unwrap();
    check(rebuild(Producer::builder(&name("file")), &checkpoint).unwrap());
}

#[test]
fn load_moves_the_blocks_that_the_program_has_added() {
    let (version, state) = moved();
    let mut run = Run::new(&name("loads"));
    run.place(2, 1, 50);
    run.p.load(&version).unwrap();
    run.p.publish_visible(9, 9.0).unwrap();
    state.check(&latest(&run.p));
}
