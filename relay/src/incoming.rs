//! The receiver's side: stores what comes in mirror regions, and publishes each step in all of
//! them.

use crate::error::RelayError;
use crate::mirror::Mirror;
use crate::wire::{self, Head, Received};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tcasm_core::field::FieldTable;

/// How long a step may wait for observers of mirrors to leave room for it.
const ROOM: Duration = Duration::from_secs(1);

/// The mirrors of what is received. They end when this is dropped.
#[derive(Default)]
pub struct Incoming {
    mirrors: BTreeMap<u32, Mirror>,
    /// The regions of the step that comes now.
    expected: Option<Vec<u32>>,
    /// When all of the step had come.
    came: Option<Instant>,
}

impl Incoming {
    /// Expects a step of these regions, as [`step`](crate::step) does if it is received. Mirrors of
    /// all others end.
    pub fn expect(&mut self, regions: Vec<u32>) {
        self.mirrors.retain(|number, _| regions.contains(number));
        self.forget_step();
        self.expected = Some(regions);
    }

    /// Takes a message.
    pub fn take(&mut self, message: &[u8]) -> Result<(), RelayError> {
        match wire::read(message)? {
            Received::Step(regions) => self.expect(regions),
            Received::Begin(head, table) => self.begin(*head, *table)?,
            Received::Data(number, pieces) => {
                let mirror = self.mirror(number)?;
                pieces.iter().try_for_each(|piece| mirror.store(piece))?;
            }
            Received::End(number) => self.mirror(number)?.complete = true,
        }
        Ok(())
    }

    /// Publishes the step if all of it has come. Returns true if no step is expected any more: it
    /// is published in all mirrors, or observers of some have left no room for it for a second.
    pub fn publish(&mut self) -> Result<bool, RelayError> {
        let Some(expected) = &self.expected else {
            return Ok(true);
        };
        let complete = |number: &u32| self.mirrors.get(number).is_some_and(|m| m.complete);
        if !expected.iter().all(complete) {
            return Ok(false);
        }
        let since = *self.came.get_or_insert_with(Instant::now);
        let mut published = true;
        for mirror in self.mirrors.values_mut() {
            published &= mirror.publish()?;
        }
        if !published && since.elapsed() < ROOM {
            return Ok(false);
        }
        self.forget_step();
        Ok(true)
    }

    fn forget_step(&mut self) {
        (self.expected, self.came) = (None, None);
        for mirror in self.mirrors.values_mut() {
            mirror.complete = false;
        }
    }

    /// Returns true if all of the expected step has come, and it is not published yet.
    pub fn waits_for_room(&self) -> bool {
        self.came.is_some()
    }

    /// Returns the names of the mirrors, in the order of their numbers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.mirrors.values().map(Mirror::name)
    }

    /// Begins a version of a region, in a new mirror if all of the version follows.
    fn begin(&mut self, head: Head, table: FieldTable) -> Result<(), RelayError> {
        let number = head.number;
        if !head.whole {
            return Ok(self.mirror(number)?.begin(head, table)?);
        }
        // The name must be free first.
        self.mirrors.remove(&number);
        let local = self.expected.as_ref().map_or(1, Vec::len);
        let local = u32::try_from(local).unwrap_or(u32::MAX);
        self.mirrors
            .insert(number, Mirror::create(head, table, local)?);
        Ok(())
    }

    fn mirror(&mut self, number: u32) -> Result<&mut Mirror, RelayError> {
        let mirror = self.mirrors.get_mut(&number);
        mirror.ok_or(RelayError::NotBegun { number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tcasm_core::field::{DType, FieldDesc};
    use tcasm_core::sys::mem::page_size;

    /// A message in any order.
    #[derive(Clone, Debug)]
    enum Op {
        Step(Vec<u32>),
        Begin(u32, bool, usize),
        Data(u32, u32, u64, usize),
        End(u32),
        Publish,
    }

    fn op() -> impl Strategy<Value = Op> {
        let number = 0u32..3;
        prop_oneof![
            proptest::collection::vec(number.clone(), 0..3).prop_map(Op::Step),
            (number.clone(), any::<bool>(), 1usize..3).prop_map(|(n, w, f)| Op::Begin(n, w, f)),
            (number.clone(), 0u32..3, 0u64..9000, 0usize..9000)
                .prop_map(|(n, f, s, l)| Op::Data(n, f, s, l)),
            number.prop_map(Op::End),
            Just(Op::Publish),
        ]
    }

    fn begin(region: &str, number: u32, whole: bool, fields: usize) -> Vec<u8> {
        let page = page_size() as u64;
        let field = |i: usize| FieldDesc {
            offset: i as u64 * page,
            ..FieldDesc::new(&format!("f{i}"), DType::U8, &[page_size()])
        };
        let table = FieldTable {
            fields: (0..fields).map(field).collect(),
            ..FieldTable::default()
        };
        let head = Head {
            region: format!("{region}-{number}"),
            number,
            step: 1,
            time: 0.0,
            whole,
            bytes: 4 * page,
            page_size: page,
        };
        wire::begin(&head, &table).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn messages_in_any_order_are_taken_or_refused(
            ops in proptest::collection::vec(op(), 0..24),
        ) {
            let (region, mut incoming) = (tcasm_tests::name("incoming"), Incoming::default());
            for op in ops {
                let _ = match op {
                    Op::Step(regions) => incoming.take(&wire::step(&regions)),
                    Op::Begin(number, whole, fields) => {
                        incoming.take(&begin(&region, number, whole, fields))
                    }
                    Op::Data(number, field, start, length) => {
                        let mut message = wire::data(number);
                        wire::add_piece(&mut message, field, start, length as u64);
                        message.resize(message.len() + length, 1);
                        incoming.take(&message)
                    }
                    Op::End(number) => incoming.take(&wire::end(number)),
                    Op::Publish => incoming.publish().map(|_| ()),
                };
            }
        }
    }

    #[test]
    fn step_is_published_when_all_of_it_has_come() {
        let (region, mut incoming) = (tcasm_tests::name("whole"), Incoming::default());
        incoming.take(&wire::step(&[0, 1])).unwrap();
        for number in [0, 1] {
            assert!(!incoming.publish().unwrap());
            incoming.take(&begin(&region, number, true, 1)).unwrap();
            assert!(!incoming.publish().unwrap());
            incoming.take(&wire::end(number)).unwrap();
        }
        assert!(incoming.publish().unwrap());
        let names: Vec<_> = incoming.names().map(str::to_owned).collect();
        assert_eq!(names, [format!("{region}-0"), format!("{region}-1")]);
        // The end of a region in an earlier step does not count for a later one.
        incoming.take(&wire::step(&[0, 1])).unwrap();
        incoming.take(&wire::end(0)).unwrap();
        incoming.take(&wire::step(&[0, 1])).unwrap();
        incoming.take(&begin(&region, 1, false, 1)).unwrap();
        incoming.take(&wire::end(1)).unwrap();
        assert!(!incoming.publish().unwrap());
        // Changes of other fields need a whole version.
        assert!(incoming.take(&begin(&region, 0, false, 2)).is_err());
        incoming.take(&begin(&region, 0, true, 2)).unwrap();
        assert!(incoming.take(&begin(&region, 7, false, 1)).is_err());
    }
}
