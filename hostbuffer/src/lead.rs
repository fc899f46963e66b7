//! Creating a buffer: the process that leads a host brings all processes, and all hosts, to one
//! address, or to the same refusal.

use crate::agreement::{Agreement, AgreementError};
use crate::claim;
use crate::error::{HostBufferError, Obstacle, Refusal, host_name};
use crate::layout::Layout;
use crate::leader::{Leader, Seat, Stage};
use crate::memory::{self, Memory};
use crate::space::Space;
use crate::wire::{PROTOCOL, ToMember};
use sha2::{Digest, Sha256};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};
use tcasm_core::sys::presence::Presence;
use tcasm_core::testing::fault;

/// How many refusals of a host the other hosts learn.
const TOLD: usize = 4;

/// How often the process that leads looks whether the others are still there.
const LOOK: Duration = Duration::from_secs(1);

/// The wishes of a process.
#[derive(Debug)]
pub(crate) struct Wish {
    pub job: String,
    pub layout: Layout,
    /// The addresses to try, in order.
    pub candidates: Vec<u64>,
    /// The number of processes of this host, if all of them must agree.
    pub processes: Option<usize>,
    /// This process may lead.
    pub leads: bool,
    pub until: Instant,
}

/// Leads the agreement. If it fails, all processes and hosts that take part learn why.
pub(crate) fn lead(
    leader: &mut Leader,
    wish: &Wish,
    hosts: &mut dyn Agreement,
) -> Result<(Memory, Presence), HostBufferError> {
    fault::pass("leading");
    let agreed = agree(leader, wish, hosts);
    if let Err(error) = &agreed {
        leader.seats.iter().for_each(|seat| seat.refuse(error));
        hosts.leave(&format!("{}: {error}", host_name()));
    }
    agreed
}

fn agree(
    leader: &mut Leader,
    wish: &Wish,
    hosts: &mut dyn Agreement,
) -> Result<(Memory, Presence), HostBufferError> {
    assemble(leader, wish)?;
    fault::pass("assembled");
    same_layout(wish, hosts)?;
    let space = choose(leader, wish, hosts)?;
    fault::pass("chosen");
    let objects = memory::create(&wish.job, &wish.layout, &space)?;
    fault::pass("made");
    let memory = Memory::map(space, wish.layout.clone(), objects)?;
    let presence = claim::enter(&wish.job)?;
    commit(leader, wish, hosts, &memory)?;
    fault::pass("agreed");
    // From here on the buffer exists. A process that dies now is a loss of that process alone.
    for seat in &mut leader.seats {
        let _ = seat.tell(&ToMember::Go);
        seat.stage = Stage::Member;
    }
    Ok((memory, presence))
}

/// Waits until all processes of this host are there.
fn assemble(leader: &mut Leader, wish: &Wish) -> Result<(), HostBufferError> {
    let Some(wanted) = wish.processes else {
        return Ok(());
    };
    // Processes that want something else count too. So nobody comes after the refusal, and waits.
    let mut others: Vec<Seat> = Vec::new();
    loop {
        for (seat, hello) in leader.arrivals() {
            if hello.protocol == PROTOCOL && hello.layout == wish.layout && !hello.member {
                leader.seats.push(seat);
            } else {
                others.push(seat);
            }
        }
        // One that has died meanwhile may be started again.
        leader.seats.retain(|seat| seat.link.is_there());
        others.retain(|seat| seat.link.is_there());
        let came = leader.seats.len() + others.len() + 1;
        if came >= wanted {
            return same_sections(&others);
        }
        let left = wish.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            same_sections(&others)?;
            return Err(HostBufferError::Missing { came, wanted });
        }
        leader.wait(None, left.min(LOOK));
    }
}

/// Refuses the processes that want something else. If there are any, no process gets the buffer.
fn same_sections(others: &[Seat]) -> Result<(), HostBufferError> {
    others.iter().for_each(|seat| seat.refuse(&differs()));
    match others.first() {
        None => Ok(()),
        Some(seat) => Err(HostBufferError::Layout(format!(
            "process {} has others",
            seat.pid()
        ))),
    }
}

/// The refusal of a process that wants something else.
pub(crate) fn differs() -> HostBufferError {
    HostBufferError::Layout(
        "they differ from those of the processes that came first; all processes must run the same \
         version of the program, with the same sections"
            .into(),
    )
}

/// Makes sure that all hosts want the same.
fn same_layout(wish: &Wish, hosts: &mut dyn Agreement) -> Result<(), HostBufferError> {
    let mine = encoded(&(PROTOCOL, &wish.job, &wish.layout, &wish.candidates));
    let mine = Sha256::digest(&mine).to_vec();
    let all = hosts.all_gather(&mine, wish.until)?;
    match all.iter().all(|other| *other == mine) {
        true => Ok(()),
        false => Err(differs()),
    }
}

/// Returns a reservation at the first address that is free in all processes of all hosts.
fn choose(
    leader: &Leader,
    wish: &Wish,
    hosts: &mut dyn Agreement,
) -> Result<Space, HostBufferError> {
    const STEP: &str = "the processes reserved addresses";
    let mut refusals = Vec::new();
    for base in wish.candidates.iter().copied() {
        leader.tell_all(&ToMember::Propose { base }, &[], STEP)?;
        fault::pass("proposed");
        let own = Space::reserve(base, &wish.layout);
        let mut against = leader.answers(STEP, wish.until)?;
        let space = own.map_err(|obstacle| against.insert(0, (own_pid(), obstacle)));
        let first = vote(hosts, base, against, wish.until)?.into_iter().next();
        match (first, space) {
            (None, Ok(space)) => return Ok(space),
            // A host that does not say what it was told.
            (None, Err(())) => return Err(HostBufferError::NoAnswer { step: STEP }),
            (Some(refusal), _) => refusals.push(refusal),
        }
        if refusals.last().is_some_and(|refusal| refusal.everywhere) {
            break;
        }
    }
    Err(HostBufferError::Refused { refusals })
}

/// Lets all processes map the sections. After this, all of them have mapped them.
fn commit(
    leader: &Leader,
    wish: &Wish,
    hosts: &mut dyn Agreement,
    memory: &Memory,
) -> Result<(), HostBufferError> {
    const STEP: &str = "the processes mapped the buffer";
    let owned = memory.descriptors();
    let owned = owned.map_err(HostBufferError::os("duplicate the descriptors of sections"))?;
    let fds: Vec<RawFd> = owned.iter().map(AsRawFd::as_raw_fd).collect();
    leader.tell_all(&ToMember::Commit, &fds, STEP)?;
    fault::pass("committed");
    let against = leader.answers(STEP, wish.until)?;
    let refusals = vote(hosts, memory.base(), against, wish.until)?;
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(HostBufferError::Refused { refusals }),
    }
}

/// Tells all hosts what is in the way here, and returns what is in the way on any of them.
fn vote(
    hosts: &mut dyn Agreement,
    base: u64,
    against: Vec<(i32, Obstacle)>,
    until: Instant,
) -> Result<Vec<Refusal>, HostBufferError> {
    let told = against.into_iter().take(TOLD);
    let against: Vec<Refusal> = told.map(|(pid, why)| Refusal::of(pid, base, why)).collect();
    let all = hosts.all_gather(&encoded(&against), until)?;
    let mut refusals = Vec::new();
    for bytes in all {
        let theirs: Result<Vec<Refusal>, _> = rmp_serde::from_slice(&bytes);
        let theirs = theirs.map_err(|e| AgreementError::Left(format!("bad message: {e}")))?;
        refusals.extend(theirs.into_iter().map(Refusal::shortened));
    }
    // All refusals go into one message to each process.
    refusals.truncate(16);
    Ok(refusals)
}

fn encoded(value: &impl serde::Serialize) -> Vec<u8> {
    rmp_serde::to_vec_named(value).expect("these values have no maps and cannot fail")
}

fn own_pid() -> i32 {
    std::process::id() as i32
}
