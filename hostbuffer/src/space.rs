//! The addresses of a buffer, which a process reserves before any memory exists.

use crate::error::Obstacle;
use crate::gpu::DeviceRange;
use crate::layout::{Backing, Layout};
use crate::regions::Reserved;
use tcasm_core::sys::mem::Mapping;

/// The reserved addresses.
#[derive(Debug)]
pub(crate) struct Space {
    /// The addresses of all sections in ordinary memory.
    pub mapping: Mapping,
    /// For each section, the addresses that the driver has reserved, if it is in device memory.
    pub devices: Vec<Option<DeviceRange>>,
    /// The addresses of all sections for regions, if there are any.
    pub for_regions: Option<Reserved>,
}

impl Space {
    /// Reserves all addresses from `base` on, or says what is in the way.
    pub(crate) fn reserve(base: u64, layout: &Layout) -> Result<Self, Obstacle> {
        let mapping = Mapping::reserve_at(base as usize, layout.ordinary)?;
        let range = &layout.for_regions;
        let for_regions = match range.is_empty() {
            true => None,
            false => Some(Mapping::reserve_at(
                base as usize + range.start,
                range.len(),
            )?),
        };
        let sections = layout.sections.iter().zip(&layout.places);
        let devices = sections.map(|(section, place)| match section.backing {
            Backing::Memory => Ok(None),
            // The driver reserves them in this process too, so they must be free here.
            Backing::Device(device) => {
                DeviceRange::reserve(device, base + place.start as u64, place.len()).map(Some)
            }
        });
        let devices = devices.collect::<Result<_, _>>()?;
        Ok(Space {
            mapping,
            devices,
            for_regions: for_regions.map(Reserved::new),
        })
    }
}
