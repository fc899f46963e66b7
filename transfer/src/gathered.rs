//! Versions of memory in pieces: gathered into a region, published there, and read by cookie.

use crate::cookie::Cookie;
use crate::declaration::Declaration;
use crate::error::DeclareError;
use crate::field::FieldError;
use crate::layout::Layout;
use crate::owner::Owner;
use ndarray::Ix1;
use std::sync::Arc;
use std::time::Duration;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{AttachError, ObserveError, Observer};
use tcasm_producer::{
    CaptureMode, CreateError, DefineError, Field, Producer, PublishError, Receipt,
};
use thiserror::Error;

/// The field of the region that has all bytes, in the order of the layout.
const FIELD: &str = "bytes";

/// Memory in pieces that is published as versions.
///
/// [`publish`](Gathered::publish) copies what has changed into a region of one field, `bytes`, and
/// publishes it. Peers read the newest version by one cookie
/// ([`Peer::read_version`](crate::Peer::read_version)), and observers attach to the region.
#[derive(Debug)]
pub struct Gathered {
    layout: Layout,
    producer: Producer,
    field: Field<u8, Ix1>,
    observer: Observer,
    owner: Arc<Owner>,
    cookie: Cookie,
}

/// The reason why memory in pieces cannot be published.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GatherError {
    /// The region cannot be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The field cannot be added.
    #[error(transparent)]
    Define(#[from] DefineError),
    /// The first version cannot be published.
    #[error("the first version was skipped; give the process more memory")]
    Skipped,
    /// Nothing can be published.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The memory of the field cannot be accessed.
    #[error(transparent)]
    View(#[from] tcasm_producer::ViewError),
    /// The process cannot attach to its own region.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The version cannot be found.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// The field of the version cannot be declared.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The owner refuses the version.
    #[error(transparent)]
    Declare(#[from] DeclareError),
}

impl Gathered {
    /// Creates the region `name`, and publishes the first version of the memory there.
    ///
    /// # Safety
    /// As long as this value lives, the memory of `layout` must be mapped and initialised. No other
    /// thread may write it during this call and during [`Gathered::publish`].
    #[allow(unsafe_code)]
    pub unsafe fn create(
        owner: &Arc<Owner>,
        name: &str,
        layout: Layout,
    ) -> Result<Self, GatherError> {
        let bytes = layout.len() as usize;
        let builder = Producer::builder(name).capacity(bytes);
        // Inline: the version is there when `publish` returns, and can be declared.
        let mut producer = builder.capture(CaptureMode::Inline).create()?;
        let field = producer.field::<u8, _>(FIELD, [bytes]).add()?;
        // SAFETY: the caller promises it of the memory of the layout.
        unsafe { gather(&mut producer, field, &layout) }?;
        if producer.publish(0, 0.0)?.version().is_none() {
            return Err(GatherError::Skipped);
        }
        let mut observer = Observer::attach_wait(name, Duration::from_secs(10))?;
        let cookie = owner.declare(newest(&mut observer)?)?;
        let owner = owner.clone();
        Ok(Gathered {
            layout,
            producer,
            field,
            observer,
            owner,
            cookie,
        })
    }

    /// Returns the cookie of the newest version.
    pub fn cookie(&self) -> Cookie {
        self.cookie
    }

    /// Publishes the present content of the memory. If the receipt says that the version was
    /// skipped, peers still read the one before.
    #[allow(unsafe_code)]
    pub fn publish(&mut self, step: u64, time: f64) -> Result<Receipt, GatherError> {
        // SAFETY: whoever has called `create` has promised it of the memory of the layout.
        unsafe { gather(&mut self.producer, self.field, &self.layout) }?;
        let receipt = self.producer.publish(step, time)?;
        if receipt.version().is_some() {
            let version = newest(&mut self.observer)?;
            self.owner.set_version(self.cookie, version)?;
        }
        Ok(receipt)
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        // A peer that reads the last version keeps it until the end of the transfer.
        let _ = self.owner.revoke(self.cookie, Duration::ZERO);
    }
}

fn newest(observer: &mut Observer) -> Result<Declaration, GatherError> {
    Ok(Declaration::field(&observer.latest()?, FIELD)?)
}

/// Copies what has changed to the field. Pages that are equal stay untouched, so that the tracker
/// sees no change there.
///
/// # Safety
/// The memory of the layout must be mapped and initialised, and nobody may write it meanwhile.
#[allow(unsafe_code)]
unsafe fn gather(
    producer: &mut Producer,
    field: Field<u8, Ix1>,
    layout: &Layout,
) -> Result<(), GatherError> {
    let mut target = producer.view_mut(field)?;
    let mut rest = target.as_slice_mut().unwrap_or(&mut []);
    for segment in layout.segments() {
        let (part, behind) = rest.split_at_mut(segment.len);
        let start = std::ptr::with_exposed_provenance(segment.addr);
        // SAFETY: by the caller's promise the memory is there, and nobody writes it as long as the
        // slice is used. A segment has at most `isize::MAX` bytes and does not wrap around.
        let from = unsafe { std::slice::from_raw_parts(start, segment.len) };
        update(part, from);
        rest = behind;
    }
    Ok(())
}

/// Copies the pages of `from` that differ from `to`, which is as long.
fn update(to: &mut [u8], from: &[u8]) {
    // The first piece ends where a page of the target ends.
    let first = to.as_ptr().align_offset(page_size()).min(to.len());
    let (to_first, to_rest) = to.split_at_mut(first);
    let (from_first, from_rest) = from.split_at(first);
    let rest = to_rest
        .chunks_mut(page_size())
        .zip(from_rest.chunks(page_size()));
    for (to, from) in std::iter::once((to_first, from_first)).chain(rest) {
        if to != from {
            to.copy_from_slice(from);
        }
    }
}
