//! One line of `tcasm ls`: a region, or a group.

use crate::agreed::Agreed;
use serde::Serialize;
use tcasm_core::group::Member;
use tcasm_observer::{AttachError, ObserveError, Observer, Socket};

/// The state of the memory that a dead producer left and `tcasm keep` holds.
pub const KEPT: &str = "kept";

/// One socket, and the region that answered there. Or a group, in place of its regions.
#[derive(Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub pid: Option<u64>,
    pub alive: bool,
    /// `running`, `kept` (the producer is dead, and another process holds its memory), or the
    /// reason why nothing else is known: `dead`, `no-answer`, `not-allowed`, `full`,
    /// `other-layout`, `error`. A group is `running` if all of its ranks on this host are, else
    /// `incomplete`, or `lost` if some have died.
    pub state: &'static str,
    pub version: Option<u64>,
    pub step: Option<u64>,
    pub time: Option<f64>,
    pub versions: Option<usize>,
    pub held_bytes: Option<u64>,
    pub observers: Option<usize>,
    /// The ranks of a group, if the row is one.
    pub ranks: Option<Ranks>,
    /// The step that the agents of a group have agreed on, if the row is one.
    pub agreed: Option<Agreed>,
    /// The place of the region in a group, once it has published.
    #[serde(skip)]
    pub member: Option<Member>,
}

/// The numbers of ranks of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ranks {
    /// The ranks of this host that run.
    pub present: usize,
    /// All ranks of this host.
    pub wanted: u32,
    /// The ranks of all hosts.
    pub all: u32,
}

/// Attaches to the region of a socket and describes it.
pub fn ask(Socket { name, kept }: &Socket) -> Row {
    let attached = match kept {
        true => Observer::attach_kept(name),
        false => Observer::attach(name),
    };
    let state = match attached {
        Ok(mut observer) => match found(name, &mut observer) {
            Ok(row) if *kept => {
                return Row {
                    state: KEPT,
                    alive: false,
                    ..row
                };
            }
            Ok(row) => return row,
            Err(_) => "error",
        },
        Err(
            AttachError::Dead { .. } | AttachError::NotFound { .. } | AttachError::Ended { .. },
        ) => "dead",
        Err(AttachError::NoAnswer { .. }) => "no-answer",
        Err(AttachError::NotAllowed { .. } | AttachError::OtherUser { .. }) => "not-allowed",
        Err(AttachError::Full { .. } | AttachError::Failed { .. }) => "full",
        Err(AttachError::OtherLayout { .. }) => "other-layout",
        Err(_) => "error",
    };
    absent(name, state)
}

fn found(name: &str, observer: &mut Observer) -> Result<Row, ObserveError> {
    let info = observer.info()?;
    let own = u64::from(std::process::id());
    let others = observer
        .observers()?
        .iter()
        .filter(|o| o.pid != own)
        .count();
    let newest = match observer.latest() {
        Ok(version) => Some(version),
        Err(ObserveError::NotReady) => None,
        Err(error) => return Err(error),
    };
    let latest = newest.as_ref().map(|version| version.stamp());
    let member = newest.and_then(|version| Member::from_attrs(&version.table().attrs).ok());
    Ok(Row {
        name: name.to_owned(),
        pid: Some(info.pid),
        alive: observer.producer_alive(),
        state: "running",
        version: latest.map(|s| s.version),
        step: latest.map(|s| s.step),
        time: latest.map(|s| s.time),
        versions: Some(observer.available()?.len()),
        held_bytes: info.counter("HeldBytes"),
        observers: Some(others),
        ranks: None,
        agreed: None,
        member,
    })
}

pub fn absent(name: &str, state: &'static str) -> Row {
    Row {
        name: name.to_owned(),
        pid: None,
        // A producer that refuses or does not answer is alive.
        alive: !matches!(state, "dead" | "error"),
        state,
        version: None,
        step: None,
        time: None,
        versions: None,
        held_bytes: None,
        observers: None,
        ranks: None,
        agreed: None,
        member: None,
    }
}
