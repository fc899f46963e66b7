//! Tests of commands on a region with blocks that move, are unused and are used again.

use crate::checkpoint::start;
use crate::common::{Background, json, name, tcasm};
use ndarray::Ix3;
use serde_json::json;
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_producer::{Block, Field, MeshDesc, MeshHandle, Producer};

/// Number of blocks.
const BLOCKS: usize = 3;
/// Points along each side of a block.
const SIDE: usize = 5;
/// Cells along each side of a block.
const CELLS: usize = SIDE - 1;

/// The places of the blocks in each step: the coordinate x of the first point, and the level;
/// `None` if the block is unused.
const STEPS: [[Option<(f64, u32)>; BLOCKS]; 4] = [
    [Some((0.0, 0)), None, None],
    [Some((0.0, 0)), Some((1.5, 1)), None],
    [Some((0.5, 0)), None, Some((2.0, 2))],
    [Some((1.0, 0)), Some((3.0, 1)), Some((2.0, 2))],
];

/// A region with blocks. All values of a block are `10 * step + number` of the block.
pub struct Blocks {
    pub p: Producer,
    meshes: Vec<MeshHandle>,
    fields: Vec<Field<f64, Ix3>>,
}

fn place(level: u32) -> Block {
    Block {
        of: "gas".to_owned(),
        level,
        refinement: [2; 3],
        offset: [i64::from(level), 0, 0],
    }
}

/// Returns the value of a block in a step, which counts from 0.
fn value(step: usize, block: usize) -> f64 {
    (10 * step + block) as f64
}

impl Blocks {
    pub fn new(name: &str) -> Blocks {
        let builder = Producer::builder(name).capacity(1 << 20);
        let mut p = builder.versions(64).history(60).create().unwrap();
        let (mut meshes, mut fields) = (Vec::new(), Vec::new());
        for block in 0..BLOCKS {
            let mesh = p.uniform_mesh(&format!("b{block}"), [SIDE; 3], [0.0; 3], [1.0; 3]);
            let mesh = mesh.block(place(0)).add().unwrap();
            let rho = p.field::<f64, _>(&format!("rho{block}"), [CELLS; 3]);
            let rho = rho.cell_centred().variable().on(&mesh).quantity("rho");
            fields.push(rho.add().unwrap());
            meshes.push(mesh);
        }
        Blocks { p, meshes, fields }
    }

    /// Publishes a step, which counts from 0. Returns its meshes.
    pub fn publish(&mut self, step: usize) -> Vec<MeshDesc> {
        for (block, at) in STEPS[step].iter().enumerate() {
            let mesh = self.meshes[block];
            match at {
                None => self.p.set_unused(&mesh).unwrap(),
                Some((x, level)) => {
                    let (points, origin) = ([SIDE; 3], [*x, 0.0, 0.0]);
                    let spacing = [1.0 / f64::from(1 + level); 3];
                    let placed = self.p.set_uniform_mesh(&mesh, points, origin, spacing);
                    placed.unwrap();
                    self.p.set_block(&mesh, place(*level)).unwrap();
                    let mut values = self.p.view_mut(self.fields[block]).unwrap();
                    values.fill(value(step, block));
                }
            }
        }
        self.p.publish(step as u64, step as f64).unwrap();
        let mesh = |block| self.p.mesh_description(&format!("b{block}"));
        (0..BLOCKS)
            .map(|block| mesh(block).unwrap().clone())
            .collect()
    }
}

#[test]
fn info_and_stats_say_which_blocks_are_used_and_where_they_are() {
    let name = name("blocks");
    let mut blocks = Blocks::new(&name);
    for (step, places) in STEPS.iter().enumerate() {
        blocks.publish(step);
        let info = json(&["info", &name, "--json"]);
        for (block, at) in places.iter().enumerate() {
            let mesh = &info["meshes"][block];
            let layers = if at.is_some() { SIDE } else { 0 };
            assert_eq!(mesh["points"], json!([layers, SIDE, SIDE]), "step {step}");
            let stats = json(&["stats", &name, &format!("rho{block}"), "--json"]);
            let Some((x, level)) = at else {
                assert_eq!(stats["count"], 0, "step {step}: {stats}");
                assert!(stats["min"].is_null(), "step {step}: {stats}");
                continue;
            };
            assert_eq!(mesh["uniform"]["origin"], json!([x, 0.0, 0.0]));
            assert_eq!(mesh["block"]["level"], json!(level), "step {step}");
            assert_eq!(stats["count"], json!(CELLS.pow(3)), "step {step}");
            let ends = ["min", "max"].map(|end| stats[end].as_f64());
            assert_eq!(ends, [Some(value(step, block)); 2], "step {step}");
        }
    }
}

/// Reads lines up to the one that begins with these words.
fn hear(run: &mut Background, words: &str) {
    loop {
        let line = run.read_line();
        assert!(!line.is_empty(), "the command ends without {words:?}");
        if line.starts_with(words) {
            return;
        }
    }
}

/// Checks that a file has the blocks of a step where they were, with their values.
fn assert_step(file: &Path, step: usize, meshes: &[MeshDesc]) {
    let restored = Checkpoint::open(file).unwrap();
    assert_eq!(restored.stamp().step, step as u64);
    for (block, at) in STEPS[step].iter().enumerate() {
        let mesh = restored.table().mesh(&format!("b{block}"));
        assert_eq!(mesh, Some(&meshes[block]), "step {step}");
        let field = format!("rho{block}");
        let shape = restored.table().get(&field).unwrap().shape.clone();
        let layers = if at.is_some() { CELLS } else { 0 };
        assert_eq!(shape, [layers, CELLS, CELLS], "{field} of step {step}");
        let mut values = ndarray::ArrayD::<f64>::zeros(shape);
        restored.read_array(&field, values.view_mut()).unwrap();
        let right = value(step, block);
        assert!(values.iter().all(|v| *v == right), "{field} of step {step}");
    }
}

#[test]
fn checkpoints_of_blocks_that_change_are_restored_with_their_places() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("regrid"));
    let mut blocks = Blocks::new(&name);
    let plain = ["--compress", "0", "--timeout", "10"];
    let args = [&["--every", "1", "--increments", "9"], &plain[..]].concat();
    let mut run = start(&name, dir.path(), &args);
    let mut steps = Vec::new();
    for step in 0..STEPS.len() {
        steps.push(blocks.publish(step));
        hear(&mut run, "wrote ");
    }
    drop(blocks);
    let run = run.end();
    assert_eq!(run.code, 0, "{run:?}");
    let out = dir.path().join("restored.vtkhdf");
    for (step, meshes) in steps.iter().enumerate() {
        let from = ["restore", dir.path().to_str().unwrap()];
        let text = step.to_string();
        let to = ["--step", &text, "--force", "--out", out.to_str().unwrap()];
        let restore = tcasm(&[&from[..], &to[..]].concat());
        assert_eq!(restore.code, 0, "{restore:?}");
        assert_step(&out, step, meshes);
    }
}

#[test]
fn kept_version_of_blocks_is_restored_with_their_places() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("left"));
    let mut blocks = Blocks::new(&name);
    let mut keeper = Background::start(&["keep", &name, "--after-end"]);
    hear(&mut keeper, "attached to ");
    let mut meshes = Vec::new();
    for step in 0..3 {
        meshes = blocks.publish(step);
    }
    drop(blocks);
    hear(&mut keeper, &format!("{name} has ended; held: "));
    let out = dir.path().join("kept.vtkhdf");
    let restore = tcasm(&["restore", "--kept", &name, "--out", out.to_str().unwrap()]);
    assert_eq!(restore.code, 0, "{restore:?}");
    assert_step(&out, 2, &meshes);
}
