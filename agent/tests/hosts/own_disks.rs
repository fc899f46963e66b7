//! Ranks that continue where each host sees no disk but its own.

use super::common::{HOSTS, Line, RANKS_PER_HOST, all_lines, wait_line, wait_told};
use super::disks::EVERY;
use std::path::Path;
use tcasm_checkpoint::job::{Level, committed};
use tcasm_tests::child::{Child, poll_until, program};
use tcasm_tests::cluster::{Cluster, part};
use tcasm_tests::name;
use tempfile::TempDir;

/// The computation, but for the number of its steps.
const PLAN: [&str; 4] = ["--size", "24", "--publish-every", "5"];

/// Starts ranks on some hosts. With `restart`, they continue from the newest checkpoint, whose
/// manifest is in this folder, and each is given the disk of its own host.
fn ranks(
    (cluster, hosts): (&Cluster, &[usize]),
    group: &str,
    steps: u64,
    restart: Option<&Path>,
) -> Child {
    let (program, steps) = (program("gray_scott_mpi"), steps.to_string());
    let one = |host: &usize| {
        let disk = cluster.disk(*host);
        let plan = [&[&program, "--name", group, "--steps", &steps][..], &PLAN].concat();
        let folders = restart.map(|slow| ["--restart", text(slow), text(&disk)]);
        let words: Vec<&str> = plan
            .into_iter()
            .chain(folders.into_iter().flatten())
            .collect();
        part(*host, RANKS_PER_HOST, &words)
    };
    cluster.mpirun(&hosts.iter().map(one).collect::<Vec<_>>())
}

/// Starts an agent on each host, which writes to the disk of its host. Nothing is drained.
fn agents(cluster: &Cluster, group: &str, slow: &Path) -> Child {
    let (program, every) = (program("tcasm-agent"), EVERY.to_string());
    let one = |host: usize| {
        let (disk, fails) = (cluster.disk(host), format!("host{host}"));
        let words = [
            &[&program, group, "--stay", "--every", &every][..],
            &["--fast", text(&disk), "--slow", text(slow)],
            &["--drain-every", "0", "--failure-group", &fails],
        ];
        part(host, 1, &words.concat())
    };
    cluster.mpirun(&(0..HOSTS).map(one).collect::<Vec<_>>())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the newest committed step, which is on the disks of the hosts only.
fn newest(group: &str, slow: &Path) -> Option<u64> {
    let all = committed(slow, group).unwrap();
    let newest = all.iter().max_by_key(|found| found.commit.step)?;
    assert_eq!(newest.level, Level::Protected);
    Some(newest.commit.step)
}

/// Returns the step and the checksums of each line about the fields.
fn sums(child: &Child) -> Vec<(u64, String)> {
    let lines = all_lines(child, "step ").into_iter();
    let of = |line: Line| {
        let step = line.text.split_whitespace().nth(1)?.parse().ok()?;
        Some((step, line.text.split_once("checksum")?.1.to_owned()))
    };
    lines.filter_map(of).collect()
}

#[test]
fn ranks_continue_from_disks_that_no_other_host_sees_after_one_is_lost() {
    let (mut cluster, group) = (Cluster::new(HOSTS), name("own-disks"));
    let slow = TempDir::new().unwrap();
    let all: Vec<usize> = (0..HOSTS).collect();
    let mut agents = agents(&cluster, &group, slow.path());
    wait_line(&agents, "agents", |_| true);
    let mut job = ranks((&cluster, &all), &group, 1_000_000, None);
    poll_until("checkpoints", || {
        newest(&group, slow.path()).filter(|step| *step >= 3 * EVERY)
    });
    match cluster.has_networks() {
        true => cluster.kill(1),
        false => job.kill(),
    }
    wait_told(&mut job);
    wait_told(&mut agents);
    cluster.lose_disk(1);

    // The blocks of the lost host come from parity, and other ranks need them than before.
    let begin = newest(&group, slow.path()).unwrap();
    let end = begin + 3 * EVERY;
    let mut continued = ranks((&cluster, &[0, 2]), &group, end, Some(slow.path()));
    let found = sums(&continued);
    assert!(continued.wait().success());
    assert_eq!(found.first().map(|(step, _)| *step), Some(begin + 5));
    let end = end.to_string();
    let words = [&["--steps", &end][..], &PLAN].concat();
    let undisturbed = Child::start(&program("gray_scott_plain"), &words, slow.path(), &[]);
    let expected = sums(&undisturbed);
    assert_eq!(found[..], expected[expected.len() - found.len()..]);
}
