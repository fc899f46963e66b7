//! Serves the memory of a region whose producer is dead.

use crate::access::Access;
use crate::claim::Claim;
use crate::error::CreateError;
use crate::service::Service;
use std::os::fd::OwnedFd;
use tcasm_core::place::{check_name, kept_path};

/// The most processes that may be attached at once.
const MOST_OBSERVERS: usize = 64;

/// The shared objects of a region whose producer is dead, served at the socket `<name>.kept`.
/// Another producer can attach there to continue the run. Nobody writes the objects any more, so
/// all their versions stay as they are.
#[derive(Debug)]
pub struct Kept {
    /// The service, which ends when this is dropped.
    _service: Service,
}

impl Kept {
    /// Serves `objects` of the region `name`: read-only descriptors of the index and the planes, in
    /// this order.
    pub fn serve(name: &str, objects: Vec<OwnedFd>, access: Access) -> Result<Kept, CreateError> {
        check_name(name)?;
        let claim = Claim::take(name, kept_path(name), &access)?;
        let _service = Service::start(claim, objects, access, MOST_OBSERVERS)?;
        Ok(Kept { _service })
    }
}
