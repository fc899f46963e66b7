//! A host is killed with all its processes, and loses its disk.

use super::alone::{Run, wait_steps};
use super::common::{
    HOSTS, Line, ask_for, assert_blocks, reader, stop, try_signal, wait_launcher, wait_line,
};
use super::disks::{self, Disks, EVERY, checking_agents};
use tcasm_checkpoint::job::Level;
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::cluster::Cluster;
use tcasm_tests::name;

/// Checks the newest step of a host as an observer has it, and returns that step.
fn latest(reader: &mut Child) -> u64 {
    let line = ask_for("latest", reader).unwrap();
    assert_blocks(&line, 1);
    line.number("step")
}

/// Waits until the agents have ended because a host is lost. Returns true if the others were told
/// to end. Most launchers tell them, and some kill them. At times a launcher hangs instead, so the
/// test tells them.
fn wait_end(cluster: &Cluster, agents: &mut Child, others: &[Line]) -> bool {
    match wait_launcher(agents) {
        Some(status) => {
            let launcher = cluster.launcher();
            assert!(!status.success() || launcher.hides_lost_hosts());
            launcher.tells_of_lost_hosts()
        }
        None => {
            let told = others.iter().filter(|a| try_signal(cluster, a, "-TERM"));
            assert_eq!(told.count(), others.len(), "an agent has ended by itself");
            true
        }
    }
}

#[test]
fn host_that_is_lost_with_its_disk_takes_no_checkpoint_along() {
    let mut cluster = Cluster::new(HOSTS);
    if !cluster.has_networks() {
        eprintln!("NOT RUN: only hosts of namespaces can be killed, which needs root");
        return;
    }
    let (group, disks, run) = (name("lost-host"), Disks::new(), Run::from(0));
    let mut ranks = run.start_all(&cluster, &group);
    let mut readers: Vec<Child> = (0..HOSTS).map(|i| reader(&cluster, i, &group)).collect();
    let arguments = ["--stay", "--drain-every", "0"];
    let mut agents = checking_agents(&cluster, &group, &disks, &arguments);
    let named = (0..HOSTS).map(|_| wait_line(&agents, "agent ", |_| true));
    let others: Vec<Line> = named.filter(|agent| agent.get("host") != "h2").collect();
    let reached = disks.wait_committed(&group, 3 * EVERY);

    cluster.kill(1);
    if wait_end(&cluster, &mut agents, &others) {
        poll_until("an agent says that it was told to end", || {
            let told = format!("of group {group:?}: told to end; the last round of all agents was");
            agents.errors().contains(&told).then_some(())
        });
    }
    agents.kill();

    // The other hosts notice nothing.
    for host in [0, 2] {
        let before = latest(&mut readers[host]);
        wait_steps(&ranks[host], 50);
        assert_eq!(ranks[host].ended(), None);
        assert!(latest(&mut readers[host]) > before);
    }

    let newest = disks.wait_committed(&group, reached);
    let found = disks.find(&group);
    assert_eq!((found.step(), found.level()), (newest, Level::Protected));
    disks::check_appointed(&found, HOSTS);
    std::fs::remove_dir_all(disks.fast(1)).unwrap();
    let rebuilt = disks.find(&group);
    assert_eq!(rebuilt.step(), newest, "no step is lost with a host");
    disks::check_appointed(&rebuilt, HOSTS);

    // The host comes back with an empty disk, and gets its file from the others.
    disks.empty(&disks.spare());
    std::fs::create_dir(disks.fast(1)).unwrap();
    cluster.restart(1);
    let mut agents = checking_agents(&cluster, &group, &disks, &arguments);
    let agent = wait_line(&agents, "agent ", |_| true);
    let whole = poll_until("the lost file is rebuilt", || {
        disks.open_as_it_is(&group, None).ok()
    });
    assert_eq!(whole.step(), newest);
    disks::check_appointed(&whole, HOSTS);
    ranks[1] = run.start(&cluster, &group, 1);
    let later = disks.wait_committed(&group, newest + 2 * EVERY);
    stop(&cluster, &agent, &mut agents);
    let found = disks.find(&group);
    assert!(found.step() >= later);
    disks::check_appointed(&found, HOSTS);
}
