//! Particle species: the groups of particles, without the records of their fields.

use super::{component, series};
use crate::file::Fault;
use crate::units::{self, Si};
use crate::write::attributes;
use hdf5::{Group, Location};
use std::collections::BTreeMap;
use tcasm_core::field::{Attr, DType, FieldDesc};

/// The record of the positions of particles.
pub const POSITION: &str = "position";
/// The record of the point that positions are relative to.
const OFFSET: &str = "positionOffset";

/// The records of a species that have a meaning in openPMD.
pub const RESERVED: [&str; 3] = [POSITION, OFFSET, "particlePatches"];

/// A species.
#[derive(Clone, Debug, PartialEq)]
pub struct Species {
    /// Its name in openPMD.
    pub name: String,
    /// The number of particles.
    pub count: usize,
    /// The number of dimensions of space, 1 to 3.
    pub dims: usize,
    /// The unit of positions.
    pub unit: Si,
    /// The free attributes.
    pub attrs: BTreeMap<String, Attr>,
}

impl Species {
    /// Creates the group of the species in `particles`, and its offset: 0 for all particles.
    pub fn create(&self, particles: &Group) -> Result<(), Fault> {
        let group = particles.create_group(&self.name)?;
        series::describe_freely(&group, &self.attrs)?;
        let offset = group.create_group(OFFSET)?;
        describe_weighting(&offset)?;
        attributes::numbers(&offset, "unitDimension", &self.unit.dimension)?;
        attributes::number(&offset, "timeOffset", 0.0_f64)?;
        for axis in ["x", "y", "z"].into_iter().take(self.dims) {
            let component = offset.create_group(axis)?;
            component::constant(&component, DType::F64, &[self.count])?;
            attributes::number(&component, "unitSI", self.unit.factor)?;
        }
        Ok(())
    }
}

/// Writes that the values of a record are those of single particles, not sums over the particles
/// that a macroparticle stands for. Programs for particle-in-cell codes need that.
pub fn describe_weighting(at: &Location) -> Result<(), Fault> {
    attributes::number(at, "macroWeighted", 0_u32)?;
    attributes::number(at, "weightingPower", 0.0_f64)?;
    Ok(())
}

/// Returns the meaning of the unit of the positions `field`. Positions are lengths, if the unit
/// does not say otherwise.
pub fn unit_of(field: &FieldDesc) -> Si {
    let given = Some(field.unit.as_str()).filter(|unit| !unit.trim().is_empty());
    given.and_then(units::parse).unwrap_or(Si::METRE)
}
