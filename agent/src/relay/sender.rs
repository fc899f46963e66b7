//! The end of a node with ranks: sends what changed in each relayed step.

use super::changes::{Part, parts};
use super::layout::analysis_node;
use super::wire::{self, Head, MOST};
use crate::node::{Pinned, UseError};
use crate::transport::Post;
use std::collections::VecDeque;
use tcasm_observer::Version;

/// The messages of one turn. More would keep the agent from its rounds.
const PER_TURN: usize = 8;

/// The parts of one rank that are sent.
struct Rank {
    rank: u32,
    begun: bool,
    parts: VecDeque<Part>,
}

/// The sender.
pub(super) struct Sender {
    /// The numbers of the agents on analysis nodes.
    to: Vec<usize>,
    /// The step that was sent last, which stays pinned because changes are against it.
    sent: Option<Pinned>,
    /// The step that is being sent, and the ranks that are not sent yet.
    sending: Option<(Pinned, VecDeque<Rank>)>,
    /// The bytes of fields that were sent, and all bytes of the fields of the steps.
    pub(super) bytes: (u64, u64),
}

impl Sender {
    pub(super) fn new(to: Vec<usize>) -> Sender {
        Sender {
            to,
            sent: None,
            sending: None,
            bytes: (0, 0),
        }
    }

    /// Begins to send a step.
    pub(super) fn begin(&mut self, step: &Pinned) -> Result<(), UseError> {
        let mut ranks = VecDeque::new();
        let sent = self.sent.as_ref().filter(|sent| sent.of.run == step.of.run);
        for (rank, version) in step.pin.members() {
            let before = sent.and_then(|sent| sent.pin.member(rank));
            let parts = VecDeque::from(parts(version, before)?);
            let fields = &version.table().fields;
            self.bytes.0 += parts
                .iter()
                .map(|(_, range)| range.end - range.start)
                .sum::<u64>();
            self.bytes.1 += fields.iter().map(|field| field.bytes()).sum::<u64>();
            ranks.push_back(Rank {
                rank,
                begun: false,
                parts,
            });
        }
        self.sending = Some((step.clone(), ranks));
        Ok(())
    }

    /// Sends what can be sent now. Returns true if the step is not sent completely.
    pub(super) fn turn(&mut self, post: &mut impl Post) -> Result<bool, UseError> {
        let Some((step, ranks)) = &mut self.sending else {
            return Ok(!post.all_sent()?);
        };
        for _ in 0..PER_TURN {
            let Some(rank) = ranks.front_mut() else { break };
            if !post.can_send()? {
                return Ok(true);
            }
            let pin = &step.pin;
            let at = analysis_node(rank.rank, pin.ranks().into(), self.to.len());
            let version = pin.member(rank.rank);
            let version = version.ok_or("a rank of a pinned step is missing")?;
            let message = match rank.begun {
                false => wire::begin(
                    &head(pin.group(), pin.run(), pin.ranks(), rank.rank, version)?,
                    version.table(),
                )?,
                true if rank.parts.is_empty() => wire::end(rank.rank),
                true => rank.data(version)?,
            };
            let ends = rank.begun && message.len() == wire::end(0).len();
            rank.begun = true;
            post.send(self.to[at], message)?;
            if ends {
                ranks.pop_front();
            }
        }
        if ranks.is_empty() {
            self.sent = self.sending.take().map(|(step, _)| step);
        }
        Ok(true)
    }
}

impl Rank {
    /// Returns a message with the next parts.
    fn data(&mut self, version: &Version) -> Result<Vec<u8>, UseError> {
        let mut message = wire::data(self.rank);
        while message.len() < MOST
            && let Some((field, mut range)) = self.parts.pop_front()
        {
            let room = (MOST - message.len()) as u64;
            let length = (range.end - range.start).min(room);
            let name = &version.table().fields[field as usize].name;
            wire::add_piece(&mut message, field, range.start, length);
            let at = message.len();
            message.resize(at + length as usize, 0);
            version.read_bytes(name, range.start, &mut message[at..])?;
            range.start += length;
            if !range.is_empty() {
                self.parts.push_front((field, range));
            }
        }
        Ok(message)
    }
}

fn head(
    group: &str,
    run: &str,
    ranks: u32,
    rank: u32,
    version: &Version,
) -> Result<Head, UseError> {
    Ok(Head {
        group: group.to_owned(),
        run: run.to_owned(),
        rank,
        ranks,
        step: version.step(),
        time: version.time(),
        region: version.extent().bytes,
        page_size: version.page_size()?,
    })
}
