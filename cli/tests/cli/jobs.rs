//! `checkpoints`, `verify` and `restore` on folders with checkpoints of a job.

use crate::common::{bad, good, json, tcasm};
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{JobSettings, JobWriter, NodeSnapshot, channels};
use tcasm_checkpoint::{Checkpoint, Snapshot};
use tcasm_core::field::{DType, FieldDesc, FieldTable, GlobalPlace};
use tcasm_core::format::stamp::Stamp;

const NODES: usize = 3;

/// Writes steps 10 and 20 of a job with one rank on each node.
fn job(root: &Path) -> (String, Vec<String>) {
    let folder = |name: String| {
        let dir = root.join(name);
        fs::create_dir(&dir).unwrap();
        dir
    };
    let slow = folder("slow".to_owned());
    let locals: Vec<PathBuf> = (0..NODES)
        .map(|node| folder(format!("node{node}")))
        .collect();
    let threads =
        channels(NODES)
            .into_iter()
            .zip(&locals)
            .enumerate()
            .map(|(node, (messages, local))| {
                let mut settings = JobSettings::new("heat", local, &slow);
                settings.drain_every = 2;
                std::thread::spawn(move || {
                    let mut writer =
                        JobWriter::connect(settings, &format!("h{node}"), messages).unwrap();
                    for step in [10, 20, 30] {
                        prepare(&mut writer, node, step);
                        writer.committed(step).unwrap();
                    }
                })
            });
    threads
        .collect::<Vec<_>>()
        .into_iter()
        .for_each(|t| t.join().unwrap());
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    (text(&slow), locals.iter().map(text).collect())
}

fn prepare(writer: &mut JobWriter<impl tcasm_checkpoint::job::Messages>, node: usize, step: u64) {
    let mut u = FieldDesc::new("u", DType::U8, &[2, 3]);
    u.global = Some(GlobalPlace {
        shape: vec![2 * NODES, 3],
        offset: vec![2 * node, 0],
    });
    let mut list = FieldDesc::new("list", DType::U8, &[node + 1]);
    list.offset = 4096;
    let table = FieldTable {
        fields: vec![u, list],
        ..FieldTable::default()
    };
    let values: Vec<u8> = (0..6).map(|i| value(step, 6 * node + i)).collect();
    let stamp = Stamp {
        version: step,
        step,
        time: 0.5,
    };
    let snapshot = Snapshot::new("heat.n", stamp, &table, |field| {
        &values[..field.bytes() as usize]
    });
    let of = NodeSnapshot {
        run: "r",
        ranks: NODES as u32,
        step,
        members: vec![(node as u32, snapshot)],
    };
    writer.prepare(&of, None).unwrap();
}

fn value(step: u64, i: usize) -> u8 {
    step as u8 + i as u8
}

#[test]
fn checkpoints_of_a_job_are_listed_verified_and_restored_without_a_node() {
    let dir = tempfile::tempdir().unwrap();
    let (slow, locals) = job(dir.path());
    let listed = good(&["checkpoints", &slow]).out;
    assert!(listed.contains("heat  (a job)"), "{listed}");
    for (step, level) in [("20", "drained"), ("30", "protected")] {
        let line = listed
            .lines()
            .find(|line| line.contains(&format!("step {step}")))
            .unwrap();
        assert!(
            line.contains(&format!("3 ranks on 3 nodes  {level} (xor)")),
            "{line}"
        );
    }
    let found = json(&["checkpoints", &slow, "--json", "--name", "heat"]);
    assert_eq!(found[0]["group"], "heat");
    assert_eq!(found[0]["checkpoints"][1]["level"], "protected");
    let mut all = vec!["verify", &slow];
    all.extend(locals.iter().map(String::as_str));
    assert!(good(&all).out.contains("job heat  step 30"));

    // One node is lost: nothing of it is left for `verify`, but `restore` rebuilds it.
    fs::remove_dir_all(&locals[1]).unwrap();
    fs::create_dir(&locals[1]).unwrap();
    let run = tcasm(&all);
    assert!(
        run.code != 0 && run.out.contains("give a folder to rebuild it in"),
        "{run:?}"
    );
    let out = dir.path().join("out.vtkhdf");
    let mut restore = vec!["restore", &slow];
    restore.extend(locals.iter().map(String::as_str));
    restore.extend(["--name", "heat", "--out", out.to_str().unwrap()]);
    let run = tcasm(&restore);
    assert!(
        run.code == 0 && run.err.contains("list are local to ranks"),
        "{run:?}"
    );
    let restored = Checkpoint::open(&out).unwrap();
    assert_eq!(restored.stamp().step, 30);
    let mut u = [0; 6 * NODES];
    restored.read_bytes("u", &mut u).unwrap();
    assert!(
        u.iter().enumerate().all(|(i, x)| *x == value(30, i)),
        "{u:?}"
    );
    let names = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name());
    assert_eq!(names.count(), NODES + 2, "rebuilt files are gone");

    // Two are too many, so the drained step is taken.
    fs::remove_dir_all(&locals[2]).unwrap();
    fs::create_dir(&locals[2]).unwrap();
    restore.push("--force");
    let run = tcasm(&restore);
    assert!(
        run.code == 0 && run.err.contains("passed over step 30"),
        "{run:?}"
    );
    assert_eq!(Checkpoint::open(&out).unwrap().stamp().step, 20);
    restore.extend(["--step", "30"]);
    let complaint = bad(&restore, 9);
    assert!(
        complaint.contains("too little") || complaint.contains("are lost"),
        "{complaint}"
    );
}
