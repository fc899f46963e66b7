//! The end of a node with ranks: sends what changed in each relayed step.

use super::layout::analysis_node;
use crate::node::{Pinned, UseError};
use crate::transport::Post;
use std::collections::VecDeque;
use tcasm_relay::Outgoing;

/// The messages of one turn. More would keep the agent from its rounds.
const PER_TURN: usize = 8;

/// The sender.
pub(super) struct Sender {
    /// The numbers of the agents on analysis nodes.
    to: Vec<usize>,
    /// The step that was sent last, which stays pinned because changes are against it.
    sent: Option<Pinned>,
    /// The step that is being sent, and the ranks that are not sent yet.
    sending: Option<(Pinned, VecDeque<(u32, Outgoing)>)>,
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
            let outgoing = Outgoing::new(rank, version, before)?;
            let fields = &version.table().fields;
            self.bytes.0 += outgoing.bytes();
            self.bytes.1 += fields.iter().map(|field| field.bytes()).sum::<u64>();
            ranks.push_back((rank, outgoing));
        }
        self.sending = Some((step.clone(), ranks));
        Ok(())
    }

    /// Sends what can be sent now. Returns true if the step is not sent completely.
    pub(super) fn turn(&mut self, post: &mut impl Post) -> Result<bool, UseError> {
        let Some((step, ranks)) = &mut self.sending else {
            return Ok(!post.all_sent()?);
        };
        let all = step.pin.ranks();
        for _ in 0..PER_TURN {
            let Some((rank, outgoing)) = ranks.front_mut() else {
                break;
            };
            if !post.can_send()? {
                return Ok(true);
            }
            if let Some(message) = outgoing.next_message()? {
                let at = analysis_node(*rank, all.into(), self.to.len());
                post.send(self.to[at], message)?;
            }
            if outgoing.is_done() {
                ranks.pop_front();
            }
        }
        if ranks.is_empty() {
            self.sent = self.sending.take().map(|(step, _)| step);
        }
        Ok(true)
    }
}
