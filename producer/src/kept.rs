//! What a dead producer has left, served in its place.

use crate::builder::Access;
use crate::claim::Claim;
use crate::error::CreateError;
use crate::service::Service;
use std::os::fd::OwnedFd;
use tcasm_core::place::{check_name, kept_path};

/// As many may ask for it at once.
const MOST_OBSERVERS: usize = 64;

/// The shared objects of a region whose producer is gone, for whoever asks at the socket `<name>.kept`: another
/// producer that is to go on from there. Nobody writes them any more, so all their versions stay as they are.
#[derive(Debug)]
pub struct Kept {
    /// Ends with this.
    _service: Service,
}

impl Kept {
    /// Serve `objects` (read-only descriptors of the index and the planes, in this order) of the region `name`.
    pub fn serve(name: &str, objects: Vec<OwnedFd>, access: Access) -> Result<Kept, CreateError> {
        check_name(name)?;
        let claim = Claim::take(name, kept_path(name), &access)?;
        let _service = Service::start(claim, objects, access, MOST_OBSERVERS)?;
        Ok(Kept { _service })
    }
}
