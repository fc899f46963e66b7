//! A producer in a process of its own, whose particles are more and fewer from version to version.

use super::lengths;
use tcasm_observer::{Observer, Version};
use tcasm_tests::child::{Child, DEADLINE};
use tcasm_tests::puppet::Puppet;
use tcasm_tests::{name, runtime_dir};

/// Starts a program that publishes particles.
fn swarm(name: &str) -> Puppet {
    let args = [name];
    let program = env!("CARGO_BIN_EXE_swarm");
    let child = Child::start(program, &args, runtime_dir(), &[]);
    Puppet { child }
}

/// Checks that a version has exactly the particles of step `step`.
fn check(version: &Version, step: u64, len: usize) {
    assert_eq!(
        (version.step(), lengths(version, ["x", "id"])),
        (step, [len; 2])
    );
    let value = |i: usize| step * 10_000 + i as u64;
    for view in [
        version.view().unwrap(),
        version.view_of(&["id", "x"]).unwrap(),
    ] {
        let x = view.array::<f64>("x").unwrap();
        assert_eq!(x.shape(), [len, 3]);
        assert!(x.indexed_iter().all(|(at, x)| *x == value(at[0]) as f64));
        let id = view.array::<u32>("id").unwrap();
        assert!(
            id.iter()
                .enumerate()
                .all(|(i, id)| u64::from(*id) == value(i))
        );
        assert_eq!((id.len(), view.bytes("id").unwrap().len()), (len, 4 * len));
    }
    let mut bytes = vec![0; 24 * len];
    version.read_bytes("x", 0, &mut bytes).unwrap();
    assert_eq!(bytes, version.view().unwrap().bytes("x").unwrap());
    let more = version.read_bytes("x", 24 * len as u64, &mut [0]);
    assert!(
        more.is_err(),
        "bytes beyond the length are not of this version"
    );
    let runs = version.runs(version.field("x").unwrap().range()).unwrap();
    assert_eq!(runs.is_empty(), len == 0);
    let size = version.table().size_of(&version.table().meshes[0]).unwrap();
    assert_eq!((size.points, size.cells), (vec![len], vec![0]));
}

#[test]
fn each_version_has_the_particles_of_its_step() {
    let name = name("swarm");
    let mut swarm = swarm(&name);
    let counts = [0, 5, 3000, 1, 0, 700];
    let mut observer = None;
    let mut pinned = Vec::new();
    for (step, len) in (1..).zip(counts) {
        swarm.ok(&len.to_string());
        let observer = observer.get_or_insert_with(|| Observer::attach(&name).unwrap());
        pinned.push((observer.wait_newer(DEADLINE).unwrap(), step, len));
        for (version, step, len) in &pinned {
            check(version, *step, *len);
        }
    }
    let error = swarm.error("3001");
    assert!(error.contains("3001") && error.contains("3000"), "{error}");
    swarm.ok("2");
    swarm.child.kill();
    for (version, step, len) in &pinned {
        check(version, *step, *len);
    }
}

#[test]
fn every_version_is_taken_with_its_length() {
    let name = name("every-length");
    let mut swarm = swarm(&name);
    swarm.ok("1");
    let mut observer = Observer::attach(&name).unwrap();
    let mut every = observer.every_version().unwrap();
    let first = every.next(DEADLINE).unwrap();
    let mut steps = first.step();
    drop(first);
    for len in [4, 0, 2000, 0, 0, 9] {
        swarm.ok(&len.to_string());
        steps += 1;
        check(&every.next(DEADLINE).unwrap(), steps, len);
    }
}
