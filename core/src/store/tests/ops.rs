//! The operations of the model, at random.

use super::PAGES;
use crate::pageset::CHUNK_PAGES;
use proptest::prelude::*;

/// How a version is captured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct How {
    /// Whole chunks are captured after the call.
    pub deferred: bool,
    /// All other pages are compared.
    pub compared: bool,
    /// Scattered chunks are assembled.
    pub assembled: bool,
}

impl How {
    pub const DEFERRED: How = How {
        deferred: true,
        compared: false,
        assembled: false,
    };
}

fn how() -> impl Strategy<Value = How> {
    any::<[bool; 3]>().prop_map(|[deferred, compared, assembled]| How {
        deferred,
        compared,
        assembled,
    })
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Writes runs of pages, and publishes. Some pages get the value that they had before.
    Publish(Vec<(usize, usize)>, How),
    /// Does the same. A run of pages belongs to no field any more.
    Vacate((usize, usize), Vec<(usize, usize)>, How),
    /// Writes a version, and gives it up before it is visible.
    Abandon(Vec<(usize, usize)>),
    /// Pins the newest version.
    Pin,
    /// Unpins the oldest version (true), or the newest.
    Unpin(bool),
    Reclaim,
    Trim,
    /// Writes every `every`th page of a chunk, and then publishes often enough for it to become
    /// cold.
    Scatter {
        chunk: usize,
        first: usize,
        every: usize,
    },
    /// Chooses a batch to compact.
    Gather,
    /// Ends copying the batch: it succeeded (true), or it failed.
    Gathered(bool),
    /// Shares live memory of a chunk with a plane.
    Share(usize),
    /// Moves live memory of a chunk to another node.
    Move(usize, u8),
    /// Does what the keeper does in a scan: asks for nodes, and returns memory of free frames.
    Scan,
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let len = prop_oneof![6 => 1usize..4, 1 => 400usize..600, 1 => Just(CHUNK_PAGES)];
    let start = prop_oneof![
        2 => 0..PAGES,
        2 => 0..2 * CHUNK_PAGES,
        1 => (0usize..5).prop_map(|chunk| chunk * CHUNK_PAGES),
    ];
    let few = proptest::collection::vec((start.clone(), len.clone()), 0..3);
    let scattered = (0..PAGES, 2usize..60).prop_map(|(first, stride)| {
        let pages = (first..PAGES.min(first + CHUNK_PAGES)).step_by(stride);
        pages.map(|page| (page, 1)).collect::<Vec<_>>()
    });
    let pages = || prop_oneof![3 => few.clone(), 2 => scattered.clone()];
    prop_oneof![
        8 => (pages(), how()).prop_map(|(written, how)| Op::Publish(written, how)),
        2 => (start.clone(), len.clone(), pages(), how())
            .prop_map(|(at, len, written, how)| Op::Vacate((at, len), written, how)),
        1 => pages().prop_map(Op::Abandon),
        3 => Just(Op::Pin),
        3 => any::<bool>().prop_map(Op::Unpin),
        1 => Just(Op::Reclaim),
        1 => Just(Op::Trim),
        5 => (0usize..2, 0usize..4, 1usize..5).prop_map(|(chunk, first, every)| Op::Scatter {
            chunk,
            first,
            every,
        }),
        4 => Just(Op::Gather),
        4 => prop_oneof![5 => Just(true), 1 => Just(false)].prop_map(Op::Gathered),
        3 => prop_oneof![3 => 0usize..2, 1 => 2usize..5].prop_map(Op::Share),
        2 => (0usize..5, 0u8..4).prop_map(|(chunk, node)| Op::Move(chunk, node)),
        2 => Just(Op::Scan),
    ]
}
