//! The part of an openPMD 1.1.0 file for other programs, beside `/tcasm`: one iteration of a
//! series.
//!
//! ```text
//! /                      openPMD, basePath, meshesPath, particlesPath, iterationEncoding,
//!                        iterationFormat, software, ...; the free attributes of the region
//! /data/<step>           time, dt (0: not known), timeUnitSI
//!   meshes/<record>      a field of one component: a dataset
//!   meshes/<record>/<c>  a field of several: a dataset for each, x, y (, z), or 0, 1, ...
//!   particles/<species>  a mesh of particles: position, positionOffset (0), and the fields on it
//! ```
//!
//! Datasets are stored without ghost layers. Their dimensions, labels and spacings go from slowest
//! to fastest, which is what `dataOrder` "C" means. This holds for fields of either order, because
//! the dimensions of an F-order field are reversed here. A component without values is a constant
//! one, as openPMD-api writes it. openPMD does not allow hyphens in names, so a hyphen becomes an
//! underscore. [`plan`] says what is stored where, and what is not.

mod component;
mod geometry;
mod plan;
mod record;
mod series;
mod species;

use crate::file::Fault;
use crate::snapshot::Snapshot;
use crate::write::attributes;
use crate::write::store::{FileLayout, Store};
use hdf5::{Dataset, File, Group};
use plan::{Place, Plan};
use record::{Kind, Record};
use std::path::Path;
use tcasm_core::field::{FieldDesc, FieldTable};

/// One iteration of a series.
pub struct Iteration {
    group: Group,
    meshes: Group,
    plan: Plan,
}

/// Returns the names of the fields of `table` that openPMD has no place for, and the reasons. A
/// file has them under `/tcasm` only.
pub fn left_out(table: &FieldTable) -> Vec<(String, &'static str)> {
    Plan::of(table).left_out
}

impl Iteration {
    /// Creates the iteration of `snapshot`, still without fields. `path` is the final path of the
    /// file.
    pub fn create(file: &File, path: &Path, snapshot: &Snapshot<'_>) -> Result<Self, Fault> {
        let (stamp, plan) = (snapshot.stamp, Plan::of(snapshot.table));
        series::describe(file, path, stamp.step, &snapshot.table.attrs)?;
        let group = file.create_group(&format!("data/{}", stamp.step))?;
        attributes::number(&group, "time", stamp.time)?;
        attributes::number(&group, "dt", 0.0_f64)?;
        attributes::number(&group, "timeUnitSI", 1.0_f64)?;
        if !plan.species.is_empty() {
            // openPMD asks for the attribute if the group exists, and only then.
            attributes::text(file, "particlesPath", "particles/")?;
            let particles = group.create_group("particles")?;
            for species in &plan.species {
                species.create(&particles)?;
            }
        }
        Ok(Iteration {
            meshes: group.create_group("meshes")?,
            group,
            plan,
        })
    }

    /// Stores `field` as the positions of all of `species`: in the first, with links to it in the
    /// others.
    fn store_positions(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
        species: &[String],
    ) -> Result<Vec<Dataset>, Fault> {
        let Some((first, others)) = species.split_first() else {
            return Ok(vec![to.own(field, bytes)?]);
        };
        let particles = self.group.group("particles")?;
        let record = Record {
            group: &particles.group(first)?,
            name: species::POSITION,
            field,
            bytes,
            kind: Kind::Positions,
        };
        let stored = record.store(to)?;
        let path = |species: &str| format!("{species}/{}", species::POSITION);
        for other in others {
            particles.link_hard(&path(first), &path(other))?;
        }
        Ok(stored)
    }
}

impl FileLayout for Iteration {
    fn store(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        match self.plan.places.get(&field.name) {
            Some(Place::Mesh(name, geometry)) => Record {
                group: &self.meshes,
                name,
                field,
                bytes,
                kind: Kind::Mesh(geometry),
            }
            .store(to),
            Some(Place::Particles { species, name }) => Record {
                group: &self.group.group(&format!("particles/{species}"))?,
                name,
                field,
                bytes,
                kind: Kind::Particles,
            }
            .store(to),
            Some(Place::Positions(species)) => self.store_positions(to, field, bytes, species),
            None => Ok(vec![to.own(field, bytes)?]),
        }
    }
}
