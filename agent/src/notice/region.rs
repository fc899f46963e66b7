//! The region of agreed steps.

use super::blocks::BlockTable;
use tcasm_core::field::{DType, FieldDesc};
use tcasm_core::group::{AgreedAttrs, BLOCKS, agreed_region};
use tcasm_producer::{
    CaptureMode, Captured, CreateError, DefineError, Producer, PublishError, ViewError,
};
use thiserror::Error;

/// The most bytes of a block table. They are addresses, and take memory only where they are used.
const MOST: usize = 256 << 20;
/// The versions that may exist at once. Observers hold them for moments only.
const VERSIONS: usize = 32;

/// Why agreed steps cannot be published on this host.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NoticeError {
    /// The region cannot be created.
    #[error(
        "cannot create the region of agreed steps: {0}. Start one agent of this group per host, \
         with a TCASM_RUNTIME_DIR that the ranks have too"
    )]
    Create(#[from] CreateError),
    /// The region cannot have its field.
    #[error("the region of agreed steps: {0}")]
    Define(#[from] DefineError),
    /// The region cannot be written.
    #[error("the region of agreed steps: {0}")]
    View(#[from] ViewError),
    /// An agreed step cannot be published.
    #[error("cannot publish an agreed step: {0}")]
    Publish(#[from] PublishError),
    /// The block table is too large.
    #[error("the block table of the job has {bytes} bytes, and there is room for {MOST}")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
    },
    /// The block table of another host cannot be read.
    #[error("the block table of agent {agent} cannot be read: {source}")]
    Table {
        /// The number of the agent.
        agent: usize,
        /// The error.
        source: serde_json::Error,
    },
}

/// The region, which ends when this is dropped.
pub(super) struct Region {
    producer: Producer,
}

impl Region {
    pub(super) fn create(group: &str) -> Result<Region, NoticeError> {
        let mut producer = Producer::builder(&agreed_region(group))
            .capacity(MOST)
            .versions(VERSIONS)
            .capture(CaptureMode::Inline)
            .create()?;
        let blocks = FieldDesc {
            capacity: Some(MOST),
            ..FieldDesc::new(BLOCKS, DType::U8, &[MOST])
        };
        producer.add_described(&blocks, Captured::InPlace)?;
        Ok(Region { producer })
    }

    /// Sets the block table of the next versions.
    pub(super) fn set_blocks(&mut self, table: &BlockTable) -> Result<(), NoticeError> {
        // A table of texts and numbers is always JSON.
        let text = serde_json::to_vec(table).unwrap_or_default();
        let bytes = text.len();
        let own = self.producer.field_bytes_mut(BLOCKS)?;
        let own = own.get_mut(..bytes);
        own.ok_or(NoticeError::TooLarge { bytes })?
            .copy_from_slice(&text);
        self.producer.set_len(BLOCKS, bytes)?;
        Ok(())
    }

    /// Publishes an agreed step. Returns false if observers hold so many versions that there is no
    /// room for another one.
    pub(super) fn publish(
        &mut self,
        step: u64,
        time: f64,
        attrs: &AgreedAttrs,
    ) -> Result<bool, NoticeError> {
        for (name, value) in attrs.attrs() {
            self.producer.set_attr(name, value);
        }
        Ok(self.producer.publish(step, time)?.version().is_some())
    }
}
