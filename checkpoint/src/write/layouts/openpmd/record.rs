//! Records: how the values of a field and their attributes are stored, on meshes and for particles.

use super::component::{constant, shape};
use super::geometry::Geometry;
use super::species;
use crate::file::Fault;
use crate::units::{self, Si};
use crate::write::store::Store;
use crate::write::{attributes, data};
use hdf5::{Dataset, Group, Location};
use tcasm_core::field::{Attr, Centering, FieldDesc};

/// A record to be stored.
pub struct Record<'a> {
    /// The group that it is created in.
    pub group: &'a Group,
    /// Its name.
    pub name: &'a str,
    /// The field that it holds.
    pub field: &'a FieldDesc,
    /// The bytes of the field.
    pub bytes: &'a [u8],
    /// The kind, on which its attributes depend.
    pub kind: Kind<'a>,
}

/// The kind of a record.
#[derive(Clone, Copy)]
pub enum Kind<'a> {
    /// Values on a mesh.
    Mesh(&'a Geometry),
    /// Values of particles.
    Particles,
    /// The positions of particles. They have components even in one dimension.
    Positions,
}

impl Record<'_> {
    /// Stores the field under `/tcasm`, and its interior here.
    pub fn store(&self, to: &Store<'_>) -> Result<Vec<Dataset>, Fault> {
        let is_empty = shape(self.field).contains(&0);
        match self.components() {
            None if is_empty => {
                let group = self.group.create_group(self.name)?;
                self.constant(&group)?;
                self.describe(&group)?;
                attributes::text(&group, "unit", &self.field.unit)?;
                Ok(vec![to.own(self.field, self.bytes)?])
            }
            None => self.store_scalar(to),
            Some(names) => {
                let group = self.group.create_group(self.name)?;
                self.describe(&group)?;
                attributes::text(&group, "unit", &self.field.unit)?;
                match is_empty {
                    true => self.store_constants(to, &group, &names),
                    false => self.store_components(to, &group, &names),
                }
            }
        }
    }

    /// Returns the names of the components, or `None` for a scalar.
    fn components(&self) -> Option<Vec<String>> {
        let is_vector = matches!(self.kind, Kind::Positions);
        match self.field.components {
            1 if !is_vector => None,
            n @ 1..=3 => Some(
                ["x", "y", "z"][..n]
                    .iter()
                    .map(|c| (*c).to_owned())
                    .collect(),
            ),
            n => Some((0..n).map(|c| c.to_string()).collect()),
        }
    }

    /// Stores a field of one component as a dataset. If the field has no ghost layers, the values
    /// are stored once under both names.
    fn store_scalar(&self, to: &Store<'_>) -> Result<Vec<Dataset>, Fault> {
        let stored = self.store_single(to, self.group, self.name)?;
        let shown = &stored[stored.len() - 1];
        self.describe(shown)?;
        if stored.len() > 1 {
            attributes::text(shown, "unit", &self.field.unit)?;
        }
        Ok(stored)
    }

    /// Stores the interior of a field of one component as the dataset `name` in `group`.
    fn store_single(
        &self,
        to: &Store<'_>,
        group: &Group,
        name: &str,
    ) -> Result<Vec<Dataset>, Fault> {
        let shape = shape(self.field);
        let target = to.target(group, name, &shape);
        let stored = match has_empty_attribute(self.field) {
            true => to.twice(&target, self.field, self.bytes)?,
            false => to.both(&target, self.field, self.bytes)?,
        };
        self.describe_component(&stored[stored.len() - 1])?;
        Ok(stored)
    }

    /// Stores each component in `group`.
    fn store_components(
        &self,
        to: &Store<'_>,
        group: &Group,
        names: &[String],
    ) -> Result<Vec<Dataset>, Fault> {
        if let [name] = names {
            return self.store_single(to, group, name);
        }
        let shape = shape(self.field);
        let mut stored = vec![to.own(self.field, self.bytes)?];
        for (component, name) in names.iter().enumerate() {
            let target = to.target(group, name, &shape);
            let dataset = data::write_component(&target, self.field, self.bytes, component)?;
            self.describe_component(&dataset)?;
            stored.push(dataset);
        }
        Ok(stored)
    }

    /// Stores components without values in `group`.
    fn store_constants(
        &self,
        to: &Store<'_>,
        group: &Group,
        names: &[String],
    ) -> Result<Vec<Dataset>, Fault> {
        for name in names {
            self.constant(&group.create_group(name)?)?;
        }
        Ok(vec![to.own(self.field, self.bytes)?])
    }

    /// Makes `group` a component without values.
    fn constant(&self, group: &Group) -> Result<(), Fault> {
        constant(group, self.field.dtype, &shape(self.field))?;
        self.describe_component(group)
    }

    /// Writes the attributes of the record, except `unit`.
    fn describe(&self, at: &Location) -> Result<(), Fault> {
        match self.kind {
            Kind::Mesh(geometry) => geometry.describe(at)?,
            Kind::Particles | Kind::Positions => species::describe_weighting(at)?,
        }
        attributes::numbers(at, "unitDimension", &self.unit().dimension)?;
        attributes::number(at, "timeOffset", 0.0_f64)?;
        Ok(())
    }

    /// Writes the attributes of a component.
    fn describe_component(&self, at: &Location) -> Result<(), Fault> {
        attributes::number(at, "unitSI", self.unit().factor)?;
        if let Kind::Mesh(_) = self.kind {
            let position: f64 = match self.field.centering {
                Centering::Point | Centering::None => 0.0,
                Centering::Cell => 0.5,
            };
            attributes::numbers(at, "position", &vec![position; shape(self.field).len()])?;
        }
        Ok(())
    }

    /// Returns the meaning of the unit. A unit that is not known counts as 1.
    fn unit(&self) -> Si {
        match self.kind {
            Kind::Positions => species::unit_of(self.field),
            _ => units::parse(&self.field.unit).unwrap_or(Si::ONE),
        }
    }
}

/// Returns true if the dataset under `/tcasm` has an attribute without values. openPMD-api cannot
/// read such a record, so the interior then needs a dataset of its own.
fn has_empty_attribute(field: &FieldDesc) -> bool {
    let is_empty = |attr: &Attr| matches!(attr, Attr::Floats(values) if values.is_empty());
    field.shape.is_empty() || field.attrs.values().any(is_empty)
}
