//! Transfers between processes, some of which are killed.

use nix::sys::resource::Resource;
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use std::fs::{Permissions, metadata, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tcasm_tests::child::{Child, poll_until, program};
use tcasm_tests::lent::{BYTES, PART, first_bytes, lender, open_folder, user};
use tcasm_tests::limits::Limited;
use tcasm_tests::runtime_dir;
use tcasm_transfer::{Cookie, Peer, Status, TransferError, Transport, direct_works};

const TRANSPORTS: [(Transport, &str); 2] =
    [(Transport::Direct, "direct"), (Transport::Ring, "ring")];

fn owner() -> (Child, String, Cookie) {
    owner_of("own")
}

fn owner_of(kind: &str) -> (Child, String, Cookie) {
    lender(runtime_dir(), kind)
}

#[test]
fn bytes_of_another_process_are_read_and_written_in_the_order_of_its_layout() {
    let (mut owner, address, cookie) = owner();
    let mut peer = Peer::connect(Path::new(&address)).unwrap();
    let wanted = first_bytes();
    for (i, (transport, _)) in TRANSPORTS.into_iter().enumerate() {
        peer.use_only(Some(transport));
        let mut bytes = vec![0; BYTES];
        let read = peer.read(cookie, 0, &mut bytes).unwrap().may_be_torn();
        assert!(read == wanted, "{transport:?}");
        // The first byte of the memory begins the last segment.
        let first = (BYTES - PART) as u64;
        peer.write(cookie, first, &[100 + i as u8]).unwrap();
        owner.send("first");
        assert_eq!(owner.hear_line("first "), (100 + i).to_string());
        peer.write(cookie, first, &[0]).unwrap();
    }
}

#[test]
fn killed_owner_is_an_error_for_its_peers() {
    for (transport, name) in TRANSPORTS {
        let (mut owner, address, cookie) = owner();
        let busy = user(&address, cookie, &[name]);
        let mut quiet = Peer::connect(Path::new(&address)).unwrap();
        quiet.use_only(Some(transport));
        busy.hear_line("round");
        owner.kill();
        let why = busy.hear_line("ended ");
        assert!(why.starts_with("the owner has ended"), "{why}");
        let read = quiet.read(cookie, 0, &mut [0; 10]).map(|_| ());
        assert!(matches!(read, Err(TransferError::OwnerGone)), "{read:?}");
    }
}

#[test]
fn killed_peers_hold_up_no_revocation_and_no_other_peer() {
    let (mut owner, address, cookie) = owner();
    for round in 0..10 {
        let (_, name) = TRANSPORTS[round % 2];
        let mut busy = user(&address, cookie, &[name]);
        busy.hear_line("round");
        busy.kill();
        let mut peer = Peer::connect(Path::new(&address)).unwrap();
        peer.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
    }
    owner.send("revoke");
    assert_eq!(owner.hear_line("revoked "), "true");
}

#[test]
fn dead_peer_whose_forked_child_has_its_connection_holds_up_no_revocation() {
    let (mut owner, address, cookie) = owner();
    let mut peer = user(&address, cookie, &["leave"]);
    peer.hear_line("forked");
    peer.kill();
    owner.send("revoke");
    assert_eq!(owner.hear_line("revoked "), "true");
}

#[test]
fn dead_owner_whose_forked_child_has_its_connections_is_an_error() {
    for (transport, _) in TRANSPORTS {
        let (mut owner, address, cookie) = owner();
        let mut peer = Peer::connect(Path::new(&address)).unwrap();
        peer.use_only(Some(transport));
        peer.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
        owner.send("fork");
        owner.hear_line("forked");
        owner.kill();
        let read = peer.read(cookie, 0, &mut [0; 10]).map(|_| ());
        assert!(matches!(read, Err(TransferError::OwnerGone)), "{read:?}");
        // The child has the listening socket, too.
        let late = Peer::connect(Path::new(&address)).map(|_| ());
        assert!(matches!(late, Err(TransferError::OwnerGone)), "{late:?}");
    }
}

#[test]
fn owner_that_is_stopped_is_an_error_after_the_time_that_the_peer_has() {
    for (transport, _) in TRANSPORTS {
        let (owner, address, cookie) = owner();
        let mut peer = Peer::connect(Path::new(&address)).unwrap();
        peer.use_only(Some(transport));
        peer.set_timeout(Duration::from_millis(50));
        owner.stop();
        let read = peer.read(cookie, 0, &mut [0; 10]).map(|_| ());
        assert!(matches!(read, Err(TransferError::TimedOut(_))), "{read:?}");
        owner.signal(Signal::SIGCONT);
        let again = peer.read(cookie, 0, &mut [0; 10]).map(|_| ());
        assert!(matches!(again, Err(TransferError::Ended)), "{again:?}");
        let mut other = Peer::connect(Path::new(&address)).unwrap();
        other.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
    }
}

#[test]
fn users_are_admitted_only_if_the_owner_says_so_and_learn_no_addresses() {
    let (_own, own_address, own_cookie) = owner();
    let (_lend, address, cookie) = owner_of("lend");
    let mode = |path: &str| metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&own_address), mode(&address)), (0o600, 0o666));
    if !Uid::effective().is_root() {
        // Only root can start a process of another user. For others the modes must do.
        return;
    }
    set_permissions(runtime_dir(), Permissions::from_mode(0o711)).unwrap();
    let other = |address: &str, cookie: Cookie, transport: &str| {
        user(address, cookie, &[transport, "ordinary"])
    };
    let refused = other(&own_address, own_cookie, "ring").hear_line("ended ");
    assert!(refused.contains("EACCES"), "{refused}");
    for transport in ["mapped", "ring"] {
        other(&address, cookie, transport).hear_line("round");
    }
    let refused = other(&address, cookie, "direct").hear_line("ended ");
    assert!(refused.contains("is of another user"), "{refused}");
    let wrong = Cookie::from_bytes([1; 16]);
    let refused = other(&address, wrong, "ring").hear_line("ended ");
    assert!(
        refused.starts_with("the owner knows no such cookie"),
        "{refused}"
    );
}

#[test]
fn processes_of_other_users_together_get_a_bounded_number_of_connections() {
    assert!(Uid::effective().is_root(), "only root can change the user");
    let (_owner, address, cookie) = owner_of("lend");
    set_permissions(runtime_dir(), Permissions::from_mode(0o711)).unwrap();
    let other = || user(&address, cookie, &["ring", "ordinary", "step"]);
    let mut kept: Vec<Child> = (0..32).map(|_| other()).collect();
    for peer in &kept {
        peer.hear_line("connected");
    }
    let error = other().hear_line("ended ");
    assert!(error.contains("or of other users"), "{error}");
    // The owner's own user has room.
    let own = user(&address, cookie, &["ring", "step"]);
    own.hear_line("connected");
    kept.pop();
    let admitted = || (other().hear_line("") == "connected").then_some(());
    poll_until("the owner has noticed that one has left", admitted);
}

#[test]
fn where_processes_may_not_be_traced_transfers_go_by_ring() {
    let folder = open_folder();
    let (_owner, address, cookie) = lender(folder.path(), "hidden");
    let user = |transport: &str| user(&address, cookie, &[transport, "ordinary"]);
    user("any").hear_line("round");
    let refused = user("direct").hear_line("ended ");
    let by_root = Uid::effective().is_root();
    let peer = Peer::connect(Path::new(&address)).unwrap();
    assert!(
        !by_root
            || peer
                .direct()
                .is_err_and(|why| why.contains("of another user"))
    );
    assert!(
        refused.contains("does not let this process trace"),
        "{refused}"
    );
}

#[test]
fn direct_copies_work_if_the_probe_says_so() {
    let (_owner, address, _) = owner();
    let peer = Peer::connect(Path::new(&address)).unwrap();
    // The opposite need not hold: a process may trace its descendants, as this owner is.
    assert!(
        direct_works().is_err() || peer.direct().is_ok(),
        "{:?}",
        peer.direct()
    );
}

#[test]
fn owner_that_is_killed_at_any_step_of_a_peer_is_an_error_of_the_next_step() {
    type Step = fn(&mut Peer, Cookie);
    let steps: [Step; 4] = [
        |_, _| {},
        |peer, cookie| assert_eq!(peer.describe(cookie).unwrap().len, BYTES as u64),
        |peer, cookie| drop(peer.map(cookie).unwrap()),
        |peer, cookie| peer.write(cookie, 0, &[1; PART]).unwrap(),
    ];
    let transports = [Transport::Direct, Transport::Mapped, Transport::Ring];
    for (i, step) in steps.into_iter().enumerate() {
        for transport in transports {
            let (mut owner, address, cookie) = owner_of("lend");
            let mut peer = Peer::connect(Path::new(&address)).unwrap();
            peer.use_only(Some(transport));
            step(&mut peer, cookie);
            owner.kill();
            let read = peer.read(cookie, 0, &mut [0; 10]).map(|_| ());
            let gone = matches!(read, Err(TransferError::OwnerGone));
            assert!(gone, "after step {i}, {transport:?}: {read:?}");
            let again = peer.describe(cookie);
            assert!(matches!(again, Err(TransferError::Ended)), "{again:?}");
            let other = Peer::connect(Path::new(&address)).map(|_| ());
            assert!(
                matches!(other, Err(TransferError::Connect { .. })),
                "{other:?}"
            );
        }
    }
}

#[test]
fn owner_that_is_killed_while_a_peer_holds_is_an_error_but_what_is_mapped_stays() {
    for transport in [Transport::Direct, Transport::Mapped] {
        let (mut owner, address, cookie) = owner_of("lend");
        let mut peer = Peer::connect(Path::new(&address)).unwrap();
        peer.use_only(Some(transport));
        peer.write(cookie, 3, &[9]).unwrap();
        let mapped = peer.map(cookie).unwrap();
        let mut hold = peer.hold(cookie, 0, 10).unwrap();
        hold.read(0, &mut [0; 10]).unwrap().may_be_torn();
        owner.kill();
        let read = hold.read(0, &mut [0; 10]).map(|_| ());
        assert!(matches!(read, Err(TransferError::OwnerGone)), "{read:?}");
        assert_eq!(mapped.load::<1>(3), Some([9]));
    }
}

#[test]
#[ignore = "needs root, because it chooses the number of a process; run by `make soak`"]
fn process_that_gets_the_number_of_a_dead_owner_is_not_mistaken_for_it() {
    let (mut owner, address, cookie) = owner();
    let mut peer = Peer::connect(Path::new(&address)).unwrap();
    peer.use_only(Some(Transport::Direct));
    let mut hold = peer.hold(cookie, 0, 10).unwrap();
    let pid = owner.pid();
    owner.kill();
    // Other programs on the machine take numbers, too.
    let _other = (0..1000)
        .find_map(|_| {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
            let other = Child::start(&program("lender"), &["own"], runtime_dir(), &[]);
            (other.pid() == pid).then_some(other)
        })
        .expect("a process with the number");
    let read = hold.read(0, &mut [0; 10]).map(|_| ());
    assert!(matches!(read, Err(TransferError::OwnerGone)), "{read:?}");
}

#[test]
fn owner_without_descriptors_serves_again_when_it_has_some() {
    let (owner, address, cookie) = owner();
    let mut first = Peer::connect(Path::new(&address)).unwrap();
    let is_free = |n: &u64| !Path::new(&format!("/proc/{}/fd/{n}", owner.pid())).exists();
    let free = (0..).find(is_free).unwrap();
    let limited = Limited::set(owner.pid(), Resource::RLIMIT_NOFILE, free);
    let waiting = std::thread::spawn({
        let address = address.clone();
        move || Peer::connect(Path::new(&address)).map(|mut peer| peer.describe(cookie))
    });
    // The ring needs a descriptor, and the connection goes on without it.
    first.use_only(Some(Transport::Ring));
    for _ in 0..20 {
        let ring = first.read(cookie, 0, &mut [0; 10]).map(|_| ());
        assert!(
            matches!(ring, Err(TransferError::Refused(Status::Failed))),
            "{ring:?}"
        );
        first.describe(cookie).unwrap();
    }
    drop(limited);
    first.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
    waiting.join().unwrap().unwrap().unwrap();
}

#[test]
fn sockets_of_killed_owners_are_removed_by_the_next_one() {
    let (mut first, address, _) = owner();
    first.kill();
    let _next = owner();
    assert!(!Path::new(&address).exists());
}
