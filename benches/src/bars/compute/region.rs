//! A region with one field that holds the data.

use super::memory::{Change, Memory, Values};
use super::state::State;
use super::{BYTES, ELEMENTS};
use crate::kernels::link;
use crate::reserved::Pool;
use ndarray::{Ix1, Zip};
use std::time::Duration;
use tcasm_core::sys::mem::HUGE_PAGE;
use tcasm_producer::{Field, HandedOver, HugePages, Producer, Receipt};

/// The capacity of a region.
const CAPACITY: usize = 2 * BYTES + (8 << 20);

#[derive(Clone, Copy)]
enum Data {
    InPlace(Field<f64, Ix1>),
    HandedOver(Field<f64, Ix1, HandedOver>),
}

/// A producer whose field is to be in a state.
pub(super) struct Region {
    producer: Producer,
    data: Data,
    state: State,
    step: u64,
    /// The reserved huge pages of the region. They are given back after the region has ended.
    _pool: Option<Pool>,
}

impl Region {
    /// Creates the region. Nothing in the field is written yet. The error says why reserved huge
    /// pages cannot be measured here.
    pub(super) fn new(state: State) -> Result<Self, String> {
        let (pool, huge) = match state {
            State::Reserved => {
                // The region is rounded up.
                let pages = CAPACITY.div_ceil(HUGE_PAGE) as u64 + 1;
                (Some(Pool::with_free(pages)?), HugePages::Reserved)
            }
            _ => (None, HugePages::default()),
        };
        let name = format!("bars-compute-{}-{}", state as usize, std::process::id());
        let builder = Producer::builder(&name).capacity(CAPACITY).huge_pages(huge);
        let builder = builder.memory(8 * BYTES as u64).check_hand_over(false);
        let builder = builder.shared_backing(state != State::Captured);
        let mut producer = builder.create().expect("a region");
        let field = producer.field::<f64, _>("data", [ELEMENTS]);
        let data = match state {
            State::HandedOver => Data::HandedOver(field.handed_over().add().expect("a field")),
            _ => Data::InPlace(field.add().expect("a field")),
        };
        Ok(Region {
            producer,
            data,
            state,
            step: 0,
            _pool: pool,
        })
    }

    /// Rewrites all of a handed-over field.
    fn rewrite(&mut self, field: Field<f64, Ix1, HandedOver>, values: &Values) {
        let view = self.producer.rewrite(field).expect("the field");
        Zip::from(&values.cycle[..]).map_assign_into(view, |next| link(*next, values.mark));
    }
}

impl Memory for Region {
    fn read(&self) -> &[f64] {
        let view = match self.data {
            Data::InPlace(field) => self.producer.view(field),
            Data::HandedOver(field) => self.producer.view(field),
        };
        view.expect("a view").to_slice().expect("contiguous")
    }

    fn write(&mut self) -> &mut [f64] {
        let view = match self.data {
            Data::InPlace(field) => self.producer.view_mut(field),
            Data::HandedOver(field) => self.producer.view_mut(field),
        };
        view.expect("a view").into_slice().expect("contiguous")
    }

    fn change(&mut self, change: &Change, values: &Values) {
        match (change, self.data) {
            (Change::Nothing, _) => {}
            (Change::All, Data::HandedOver(field)) => self.rewrite(field, values),
            _ => values.write(change, self.write()),
        }
    }

    fn publish(&mut self) {
        if !self.state.publishes() {
            return;
        }
        self.step += 1;
        let receipt = self.producer.publish(self.step, 0.0).expect("published");
        let Receipt::Published(published) = receipt else {
            panic!("{receipt:?}");
        };
        assert_eq!(published.wait_visible(Duration::MAX), Ok(true));
    }

    fn outside(&self) -> Option<f64> {
        self.state.outside(&self.producer.stats())
    }
}
