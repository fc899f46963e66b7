//! Sessions that get any requests in any order.

use super::*;
use crate::cookie::Access;
use crate::layout::Layout;
use crate::shared::SharedMemory;
use proptest::prelude::*;
use std::num::NonZeroU64;
use std::time::Duration;

const LEN: u64 = 700_000;
const BEACON: [u64; 4] = [1, 2, 3, 4];

/// Returns declarations of each kind, and a cookie that is none of theirs.
fn declarations(table: &Table) -> Vec<Cookie> {
    let memory = SharedMemory::create(LEN as usize).unwrap();
    let half = LEN as usize / 2;
    let parts = [(half, LEN as usize - half), (0, half)];
    let segment = |(at, len)| Segment {
        addr: memory.addr() + at,
        len,
    };
    let layout = || Layout::new(parts.map(segment)).unwrap();
    let of = |access| Declaration::shared(&memory, layout(), access).unwrap();
    let bytes = Arc::new(vec![7u8; LEN as usize]);
    let version = Declaration::version(NonZeroU64::MIN, bytes).unwrap();
    let all = [
        of(Access::ReadWrite),
        of(Access::Read),
        of(Access::ReadWrite).once(),
        version,
    ];
    let cookies = all.into_iter().map(|d| table.declare(d).unwrap());
    cookies.chain([Cookie::from_bytes([9; 16])]).collect()
}

/// Returns a request that a number chooses.
fn request(
    cookies: &[Cookie],
    (kind, which, offset, len, flags): (u8, usize, u64, u64, u8),
) -> Request {
    let cookie = cookies[which % cookies.len()];
    let span = Span {
        cookie,
        offset,
        len,
        write: flags & 1 == 1,
    };
    match kind % 8 {
        0 => Request::Hello { version: VERSION },
        1 => Request::Describe(cookie),
        2 | 3 => Request::Resolve {
            span,
            file: flags & 2 == 2,
        },
        4 => Request::End {
            complete: flags & 1 == 1,
        },
        5 => Request::Ring,
        6 => Request::Block {
            span,
            slot: u64::from(flags) % (SLOTS + 1),
        },
        _ => Request::Map(cookie),
    }
}

#[test]
fn part_of_a_version_that_failed_is_of_the_same_version_when_it_is_read_again() {
    let table = Table::default();
    let version = |number: u64| {
        let bytes = Arc::new(vec![number as u8; 3 * SLOT_BYTES as usize]);
        Declaration::version(NonZeroU64::new(number).unwrap(), bytes).unwrap()
    };
    let cookie = table.declare(version(1)).unwrap();
    let mut session = Session::new(1, Status::Done, true);
    let mut ask = |request| session.answer(request, &table, BEACON).unwrap().reply;
    ask(Request::Hello { version: VERSION });
    ask(Request::Ring);
    let span = |offset| Span {
        cookie,
        offset,
        len: 3 * SLOT_BYTES - offset,
        write: false,
    };
    let resolve = Request::Resolve {
        span: span(5),
        file: false,
    };
    assert_eq!(ask(resolve).words[1], 1);
    table.set_version(cookie, version(2)).unwrap();
    ask(Request::End { complete: false });
    for offset in [5, 5 + SLOT_BYTES, 5 + 2 * SLOT_BYTES] {
        let block = Request::Block {
            span: span(offset),
            slot: 0,
        };
        assert_eq!(ask(block).words[1], 1, "at {offset}");
    }
    assert_eq!(ask(resolve).words[1], 2, "a new transfer");
}

fn some_offset() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(LEN),
        Just(u64::MAX),
        Just(SLOT_BYTES),
        0..2 * LEN
    ]
}

proptest! {
    #[test]
    fn any_requests_are_answered_within_bounds_and_leave_nothing_running(
        requests in proptest::collection::vec(
            (any::<bool>(), any::<u8>(), 0usize..5, some_offset(), some_offset(), any::<u8>()),
            1..60,
        ),
    ) {
        let table = Table::default();
        let cookies = declarations(&table);
        let mut sessions = [true, false].map(|trusted| {
            let mut session = Session::new(u64::from(trusted), Status::Done, trusted);
            let hello = session.answer(Request::Hello { version: VERSION }, &table, BEACON);
            let words = hello.unwrap().reply.words;
            assert_eq!(words, if trusted { BEACON } else { [0; 4] });
            session
        });
        for (other, kind, which, offset, len, flags) in requests {
            let request = request(&cookies, (kind, which, offset, len, flags));
            let session = &mut sessions[usize::from(other)];
            let Some(answer) = session.answer(request, &table, BEACON) else {
                continue;
            };
            let (status, segments) = (answer.reply.status, &answer.reply.segments);
            let sum: u64 = segments.iter().map(|segment| segment.len as u64).sum();
            if let Request::Resolve { file, span } = request && status == Status::Done {
                prop_assert!((1..=span.len.min(WINDOW_BYTES)).contains(&sum));
                prop_assert_eq!(answer.reply.words[0], sum);
                prop_assert!(file || !other, "addresses for another user");
                let inside = |s: &Segment| s.addr + s.len <= LEN as usize;
                prop_assert!(!file || segments.iter().all(inside));
            }
            prop_assert!(status == Status::Done || segments.is_empty());
        }
        sessions.into_iter().for_each(|session| session.leave(&table));
        for cookie in cookies {
            prop_assert!(table.revoke(cookie, Duration::ZERO), "a transfer runs for ever");
        }
        prop_assert_eq!(table.len(), 0);
    }
}
