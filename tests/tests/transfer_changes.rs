//! Transfers whose owner or whose rights change in the middle: revocations, other programs, forked
//! children, rights that are taken away, and descriptors that are used up.

use nix::sys::resource::Resource;
use std::path::Path;
use tcasm_tests::child::Child;
use tcasm_tests::lent::{BYTES, first_bytes, lender, open_folder, user};
use tcasm_tests::limits::Limited;
use tcasm_tests::runtime_dir;
use tcasm_transfer::{Cookie, Hold, Peer, TransferError, Transport};

const ALL: [Transport; 3] = [Transport::Direct, Transport::Mapped, Transport::Ring];

fn owner(kind: &str) -> (Child, String, Cookie) {
    lender(runtime_dir(), kind)
}

fn peer(address: &str, transport: Transport) -> Peer {
    let mut peer = Peer::connect(Path::new(address)).unwrap();
    peer.use_only(Some(transport));
    peer
}

/// Reads all bytes until that fails, and checks that they are those of the lender.
fn read_until_error(hold: &mut Hold<&mut Peer>) -> TransferError {
    let (mut bytes, wanted) = (vec![0; BYTES], first_bytes());
    loop {
        match hold.read(0, &mut bytes) {
            Ok(read) => assert!(*read.may_be_torn() == wanted, "bytes of another program"),
            Err(error) => return error,
        }
    }
}

#[test]
fn memory_that_is_reused_after_its_revocation_is_never_read_as_good() {
    for round in 0..5 {
        let (mut owner, address, cookie) = owner("lend");
        let ways = ["direct", "mapped", "ring", "held"];
        let users = ways.map(|way| user(&address, cookie, &[way, "read"]));
        users.iter().for_each(|user| drop(user.hear_line("round")));
        owner.send("reuse");
        assert_eq!(owner.hear_line("revoked "), "true");
        for (user, way) in users.iter().zip(ways) {
            let why = user.hear_line("ended ");
            let revoked = why.starts_with("the owner has revoked the cookie");
            assert!(revoked, "round {round}, {way}: {why}");
        }
    }
}

#[test]
fn writes_end_with_their_revocation() {
    let (mut owner, address, cookie) = owner("lend");
    let ways = ["direct", "mapped", "ring"];
    let users = ways.map(|way| user(&address, cookie, &[way]));
    users.iter().for_each(|user| drop(user.hear_line("round")));
    owner.send("revoke");
    assert_eq!(owner.hear_line("revoked "), "true");
    for user in &users {
        let why = user.hear_line("ended ");
        assert!(why.starts_with("the owner has revoked the cookie"), "{why}");
    }
}

#[test]
fn program_that_the_owner_starts_is_not_mistaken_for_it() {
    // A forked child keeps the sockets of the owner open, so that nothing hangs up.
    for sockets_stay in [false, true] {
        let (mut owner, address, cookie) = owner("fixed");
        let mut peers = [0, 1].map(|_| peer(&address, Transport::Direct));
        let mut holds = peers
            .each_mut()
            .map(|peer| peer.hold(cookie, 0, BYTES as u64).unwrap());
        let mut bytes = vec![0; BYTES];
        for hold in &mut holds {
            hold.read(0, &mut bytes).unwrap().may_be_torn();
        }
        if sockets_stay {
            owner.send("fork");
            owner.hear_line("forked");
        }
        owner.send("exec");
        let [during, afterwards] = &mut holds;
        let error = read_until_error(during);
        assert!(matches!(error, TransferError::OwnerGone), "{error}");
        owner.hear_line("other");
        let error = read_until_error(afterwards);
        assert!(matches!(error, TransferError::OwnerGone), "{error}");
    }
}

#[test]
fn peers_of_an_owner_that_starts_another_program_are_told() {
    for transport in ALL {
        let (mut owner, address, cookie) = owner("lend");
        let mut peer = peer(&address, transport);
        peer.read(cookie, 0, &mut [0; 10]).unwrap().may_be_torn();
        owner.send("exec");
        owner.hear_line("other");
        let read = peer.read(cookie, 0, &mut [0; 10]).map(|_| ());
        assert!(
            matches!(read, Err(TransferError::OwnerGone)),
            "{transport:?}: {read:?}"
        );
    }
}

#[test]
fn forked_child_of_the_owner_revokes_nothing_and_removes_no_socket() {
    let (mut owner, address, cookie) = owner("lend");
    let mut old = ALL.map(|transport| peer(&address, transport));
    owner.send("drop");
    assert_eq!(owner.hear_line("child "), "false false");
    let mut new = ALL.map(|transport| peer(&address, transport));
    let mut bytes = vec![0; BYTES];
    for peer in old.iter_mut().chain(&mut new) {
        peer.read(cookie, 0, &mut bytes).unwrap().may_be_torn();
        assert!(bytes == first_bytes());
    }
    owner.send("revoke");
    assert_eq!(owner.hear_line("revoked "), "true");
}

#[test]
fn peer_goes_on_by_another_transport_when_the_kernel_forbids_direct_copies() {
    let folder = open_folder();
    let (mut owner, address, cookie) = lender(folder.path(), "open");
    let start = |way: &str| user(&address, cookie, &[way, "ordinary", "step"]);
    let [mut any, mut direct, mut held] = ["any", "direct", "held"].map(start);
    for user in [&mut any, &mut direct, &mut held] {
        user.send("");
        user.hear_line("round");
    }
    owner.send("hide");
    owner.hear_line("hidden");
    for _ in 0..3 {
        any.send("");
        any.hear_line("round");
    }
    for user in [&mut direct, &mut held] {
        user.send("");
        user.hear_line("forbidden");
        let why = user.hear_line("ended ");
        assert!(why.contains("does not let this process trace"), "{why}");
    }
}

#[test]
fn peer_without_descriptors_says_so() {
    for way in ["ring", "mapped"] {
        let (_owner, address, cookie) = owner("lend");
        let mut user = user(&address, cookie, &[way, "step"]);
        user.hear_line("connected");
        let is_free = |n: &u64| !Path::new(&format!("/proc/{}/fd/{n}", user.pid())).exists();
        let free = (0..).find(is_free).unwrap();
        let _limited = Limited::set(user.pid(), Resource::RLIMIT_NOFILE, free);
        user.send("");
        let why = user.hear_line("ended ");
        assert!(why.starts_with("no room for the file"), "{way}: {why}");
    }
}
