//! Agreement among hosts by a collective operation of the application, such as MPI's.

use crate::agreement::{Agreement, AgreementError, Local};
use crate::error::short;
use std::fmt;
use std::time::{Duration, Instant};

/// The first byte of a message of a host that takes part, and of one that leaves.
const PRESENT: u8 = 0;
const LEFT: u8 = 1;
/// How long a host that leaves waits for the others to learn why.
const LEAVING: Duration = Duration::from_secs(10);

/// An operation that all hosts do together: each gives a message, and gets those of all.
pub trait AllGather: fmt::Debug + Send {
    /// Returns the messages of all hosts, in the same order on every host.
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError>;
}

/// Agreement by a collective operation. A host that gives up says why in its last call, so that no
/// other host waits for the end of its time.
#[derive(Debug)]
pub struct Collective<G> {
    operation: G,
    local: Option<Local>,
    /// The last message that all hosts will gather has been sent, or a call has failed.
    ended: bool,
}

impl<G: AllGather> Collective<G> {
    /// Agrees by `operation`. `local` is what is known of the processes of this host.
    pub fn new(operation: G, local: Option<Local>) -> Self {
        Collective {
            operation,
            local,
            ended: false,
        }
    }

    /// Gives a message to all hosts, and returns those of all. One that has left is an error.
    fn gather(
        &mut self,
        kind: u8,
        mine: &[u8],
        until: Instant,
    ) -> Result<Vec<Vec<u8>>, AgreementError> {
        let message = [&[kind], mine].concat();
        let mut all = self.operation.all_gather(&message, until)?;
        for message in &mut all {
            let kind = (!message.is_empty()).then(|| message.remove(0));
            if kind != Some(PRESENT) {
                let why = String::from_utf8_lossy(message).into_owned();
                return Err(AgreementError::Left(why));
            }
        }
        Ok(all)
    }
}

impl<G: AllGather> Agreement for Collective<G> {
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
        if self.ended {
            return Err(AgreementError::Left("the agreement has ended".into()));
        }
        let all = self.gather(PRESENT, mine, until);
        // A host that learns that another one has left does not answer: nobody waits for it.
        self.ended = all.is_err();
        all
    }

    fn leave(&mut self, why: &str) {
        if !self.ended {
            self.ended = true;
            let why = short(why, 4000);
            // All others learn it in the next round, or leave in it themselves.
            let _ = self.gather(LEFT, why.as_bytes(), Instant::now() + LEAVING);
        }
    }

    fn local(&self) -> Option<Local> {
        self.local
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Answers with messages of another host, and remembers those of this one.
    #[derive(Debug, Default)]
    struct Script {
        theirs: VecDeque<Vec<u8>>,
        mine: Vec<Vec<u8>>,
    }

    impl AllGather for Script {
        fn all_gather(&mut self, mine: &[u8], _: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
            self.mine.push(mine.to_vec());
            let theirs = self.theirs.pop_front();
            let theirs = theirs.ok_or_else(|| AgreementError::Late("the other host".into()))?;
            Ok(vec![mine.to_vec(), theirs])
        }
    }

    fn collective(theirs: &[&[u8]]) -> Collective<Script> {
        let theirs = theirs.iter().map(|message| message.to_vec()).collect();
        let script = Script {
            theirs,
            ..Script::default()
        };
        Collective::new(script, None)
    }

    #[test]
    fn messages_of_all_hosts_are_returned() {
        let mut hosts = collective(&[b"\0theirs"]);
        let all = hosts.all_gather(b"mine", Instant::now()).unwrap();
        assert_eq!(all, [b"mine".to_vec(), b"theirs".to_vec()]);
        assert_eq!(hosts.operation.mine, [b"\0mine".to_vec()]);
    }

    #[test]
    fn a_host_that_leaves_is_an_error_and_ends_the_calls() {
        for last in [&b"\x01no memory"[..], b"", b"\x07"] {
            let mut hosts = collective(&[last]);
            let error = hosts.all_gather(b"mine", Instant::now()).unwrap_err();
            assert!(
                matches!(&error, AgreementError::Left(why) if last.get(1..).is_none_or(
                |told| why.as_bytes() == told))
            );
            assert!(hosts.all_gather(b"mine", Instant::now()).is_err());
            hosts.leave("nobody hears this");
            assert_eq!(hosts.operation.mine.len(), 1);
        }
    }

    #[test]
    fn a_host_that_gives_up_tells_the_others_once() {
        let mut hosts = collective(&[b"\0theirs"]);
        hosts.leave("no memory");
        hosts.leave("again");
        assert_eq!(hosts.operation.mine, [b"\x01no memory".to_vec()]);
        assert!(hosts.all_gather(b"mine", Instant::now()).is_err());
    }
}
