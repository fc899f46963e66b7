//! Host buffers of three hosts on a network: namespaces of this machine, each with a host name, a
//! link and a folder for sockets of its own.

use nix::sys::signal::Signal;
use tcasm_core::place::addresses;
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::network::Network;
use tcasm_tests::procfs::is_stopped;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostbuffer");
const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];
const PORT: &str = "4711";

/// Three hosts, and a rendezvous in the middle.
struct Site {
    network: Network,
    dirs: [TempDir; 3],
    /// The rendezvous, which prints what happens.
    rendezvous: Child,
}

impl Site {
    fn new() -> Site {
        let network = Network::new(&NAMES);
        let dirs = [(); 3].map(|()| TempDir::new().unwrap());
        let at = format!("0.0.0.0:{PORT}");
        let serve = [PROGRAM, "serve", &at, "3"];
        let secret = [("HOSTBUFFER_SECRET", "0123456789abcdef")];
        let rendezvous = network.start(None, &serve, dirs[0].path(), &secret);
        rendezvous.hear_line("ok serving");
        Site {
            network,
            dirs,
            rendezvous,
        }
    }

    /// Starts a process of host `i`, which has two. `wrapper` runs the program.
    fn process(&self, i: usize, wrapper: &[&str], blocked: &[u64], fault: &str) -> Child {
        let blocked: Vec<String> = blocked.iter().map(|at| format!("{at:x}")).collect();
        let mut program = [wrapper, &[PROGRAM, "job", "2"]].concat();
        program.extend(blocked.iter().map(String::as_str));
        let address = format!("{}:{PORT}", self.network.address(i));
        let settings = [
            ("HOSTBUFFER_RENDEZVOUS", address.as_str()),
            ("HOSTBUFFER_SECRET", "0123456789abcdef"),
            ("TCASM_FAULT", fault),
        ];
        let dir = self.dirs[i].path();
        self.network.start(Some(i), &program, dir, &settings)
    }
}

fn candidates() -> Vec<u64> {
    addresses("hostbuffer/job", 10 << 20).collect()
}

/// The kernel places everything at random addresses on two hosts, and at fixed ones on the third.
#[test]
fn hosts_with_different_address_spaces_have_the_buffer_at_one_address() {
    let (site, free) = (Site::new(), candidates());
    let mut all = Vec::new();
    for i in 0..3 {
        let fixed: &[&str] = if i == 1 { &["setarch", "-R"] } else { &[] };
        all.push(site.process(i, fixed, &free[i..=i], ""));
        all.push(site.process(i, fixed, &[], ""));
    }
    for child in &all {
        let line = child.hear_line("ok created=");
        assert!(line.ends_with(&format!(" address={:x}", free[3])), "{line}");
    }
    let joined = NAMES.map(|_| site.rendezvous.hear_line("event Joined"));
    for name in NAMES {
        let quoted = format!("{name:?}");
        assert!(
            joined.iter().any(|text| text.contains(&quoted)),
            "{joined:?}"
        );
    }
}

#[test]
fn host_without_a_free_address_is_named_to_all_with_the_mapping() {
    let site = Site::new();
    let mut all = vec![site.process(1, &[], &candidates(), "")];
    let named = format!("process {} (hostbuffer) on beta: ", all[0].pid());
    all.extend([0, 0, 1, 2, 2].map(|i| site.process(i, &[], &[], "")));
    for child in &mut all {
        let why = child.hear_line("error ");
        assert!(why.contains(&named) && why.contains("---p"), "{why}");
        assert!(child.wait().success());
    }
    for dir in &site.dirs {
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}

/// The process that leads the third host has stopped, so that the link goes down while the others
/// wait for this host. They need not wait for the end of their time.
#[test]
fn host_whose_link_goes_down_is_named_to_all_others() {
    let site = Site::new();
    let first = site.process(2, &[], &[], "stop@chosen");
    let leads = || site.dirs[2].path().join("job.hostbuffer").exists();
    poll_until("it leads", || leads().then_some(()));
    let second = site.process(2, &[], &[], "");
    let others = [0, 0, 1, 1].map(|i| site.process(i, &[], &[], ""));
    poll_until("it stops", || is_stopped(first.pid()).then_some(()));
    site.network.cut(2);
    for child in &others {
        let why = child.hear_line("error ");
        let named = "host gamma has left: the connection is lost";
        assert!(why.contains(named), "{why}");
    }
    // This end of the link notices it too.
    first.signal(Signal::SIGCONT);
    for child in [&first, &second] {
        let why = child.hear_line("error ");
        assert!(why.contains("the connection is lost"), "{why}");
    }
}
