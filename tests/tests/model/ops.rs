//! The steps of a sequence, and their random choice.

use proptest::prelude::*;
use tcasm_core::store::Bounds;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};
use tcasm_producer::HugePages;

/// The pages that are requested, and those that a region has in addition because of rounding: two
/// whole chunks and a partial one.
pub const CAPACITY: usize = 1100;
pub const ROUNDING: usize = 64;
pub const OBSERVERS: usize = 3;
pub const PINS: usize = 4;

/// The way in which a step writes.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    Byte,
    /// The last byte of a page, and the first byte of the next.
    Edge,
    Span(usize),
    Every(usize),
    All,
    /// All but one page.
    Around,
}

/// The way of writing, the place and the value of stores right after `publish`.
pub type Early = Option<(Style, usize, u8)>;

/// One step. Numbers are taken modulo the number of things that exist.
#[derive(Clone, Debug)]
pub enum Op {
    Write {
        buffer: usize,
        style: Style,
        at: usize,
        value: u8,
    },
    Publish {
        wait: bool,
        /// The stores to all buffers right after the call returns.
        early: Early,
    },
    Pin {
        observer: usize,
        how: How,
        keep_view: bool,
    },
    Unpin {
        observer: usize,
        which: usize,
    },
    Attach(usize),
    Detach(usize),
    CrasherPins(usize),
    CrasherDies,
    Grow {
        bytes: usize,
        double: bool,
    },
    Swap(usize),
    Mark {
        buffer: usize,
        at: usize,
        pages: usize,
    },
    Dma {
        buffer: usize,
    },
    Trim,
    Revoke,
    BreakTracker(usize),
    /// Rolls back to one of the versions that exist.
    Rollback(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum How {
    Latest,
    Next,
    Number(u64),
}

pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let n = 0usize..64;
    let style = || {
        prop_oneof![
            2 => Just(Style::Byte),
            2 => Just(Style::Edge),
            3 => (1usize..600).prop_map(Style::Span),
            2 => (2usize..40).prop_map(Style::Every),
            2 => Just(Style::All),
            2 => Just(Style::Around),
        ]
    };
    let how = prop_oneof![
        2 => Just(How::Latest),
        2 => Just(How::Next),
        1 => (0u64..12).prop_map(How::Number),
    ];
    let early = proptest::option::of((style(), 0usize..1 << 16, 0u8..4));
    let op = prop_oneof![
        40 => (n.clone(), style(), 0usize..1 << 16, 0u8..4)
            .prop_map(|(buffer, style, at, value)| Op::Write { buffer, style, at, value }),
        30 => (any::<bool>(), early).prop_map(|(wait, early)| Op::Publish { wait, early }),
        20 => (n.clone(), how, any::<bool>())
            .prop_map(|(observer, how, keep_view)| Op::Pin { observer, how, keep_view }),
        12 => (n.clone(), n.clone()).prop_map(|(observer, which)| Op::Unpin { observer, which }),
        6 => n.clone().prop_map(Op::Attach),
        4 => n.clone().prop_map(Op::Detach),
        4 => n.clone().prop_map(Op::CrasherPins),
        3 => Just(Op::CrasherDies),
        3 => (1usize..600_000, any::<bool>())
            .prop_map(|(bytes, double)| Op::Grow { bytes, double }),
        8 => n.clone().prop_map(Op::Swap),
        3 => (n.clone(), 0usize..1 << 16, 1usize..20)
            .prop_map(|(buffer, at, pages)| Op::Mark { buffer, at, pages }),
        1 => n.clone().prop_map(|buffer| Op::Dma { buffer }),
        3 => Just(Op::Trim),
        1 => Just(Op::Revoke),
        6 => n.clone().prop_map(Op::Rollback),
        1 => n.prop_map(Op::BreakTracker),
    ];
    proptest::collection::vec(op, 1..60)
}

/// The settings of a region.
#[derive(Clone, Debug)]
pub struct Region {
    pub bounds: Bounds,
    /// The pages of the first field: more than a chunk, or so few that the second field begins in
    /// the same chunk.
    pub first: usize,
    /// The number of nodes of memory that the machine pretends to have.
    pub nodes: usize,
    /// The huge pages that live memory may consist of.
    pub huge: HugePages,
    /// True if all scattered chunks are assembled.
    pub assemble: bool,
}

impl Region {
    /// Returns the pages that the region has: whole huge pages if they are reserved ones.
    pub fn pages(&self) -> usize {
        let pages = CAPACITY + ROUNDING;
        match self.huge {
            HugePages::Reserved => pages.next_multiple_of(HUGE_PAGE / page_size()),
            HugePages::Off | HugePages::Transparent => pages,
        }
    }
}

pub fn region() -> impl Strategy<Value = Region> {
    let first = prop_oneof![Just(530), Just(400)];
    let nodes = prop_oneof![2 => Just(1usize), 1 => Just(2), 1 => Just(4)];
    (bounds(), first, nodes, any::<bool>(), any::<bool>()).prop_map(
        |(bounds, first, nodes, huge, assemble)| Region {
            bounds,
            first,
            nodes,
            huge: match huge {
                true => HugePages::Transparent,
                false => HugePages::Off,
            },
            assemble,
        },
    )
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let region = (CAPACITY + ROUNDING) as u64;
    let memory = prop_oneof![Just(4 * region), 300u64..2 * region];
    (2usize..7, 0usize..6, memory).prop_map(|(versions, history, pages)| Bounds {
        versions,
        history: history.min(versions - 2),
        bytes: pages * page_size() as u64,
    })
}
