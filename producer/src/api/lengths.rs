//! Sets the lengths of variable fields, which the next versions have.

use crate::counts::points_field;
use crate::error::DefineError;
use crate::handles::{Field, MeshHandle};
use crate::producer::Producer;
use std::collections::BTreeMap;

/// An item that has a length: a field, a mesh (the number of its points; of a rectilinear or
/// curvilinear mesh: along its slowest axis), or the name of either.
pub trait Lengths: sealed::Sealed {
    /// Returns the number of the field that has the length.
    #[doc(hidden)]
    fn field_in(&self, producer: &Producer) -> Result<usize, DefineError>;
}

mod sealed {
    /// Keeps other crates from implementing a trait whose function returns numbers that only this
    /// crate knows.
    pub trait Sealed {}
}

impl Producer {
    /// Sets the length that a variable field has from the next version on: the extent of its
    /// slowest axis. All variable fields that share its count get theirs: the points of a mesh and
    /// the fields on them, or the cells and the fields in them. Fields without centring, and the
    /// connectivity of cells of several types, have lengths of their own.
    ///
    /// Costs no copy, and versions that exist keep their lengths. Live memory stays as it is: what
    /// the program wrote beyond the length is still there when the field grows again, and zeros
    /// where nothing was written. Of a handed-over field that was begun anew, such elements are
    /// undefined.
    ///
    /// After an error all lengths are as they were.
    ///
    /// ```
    /// # use tcasm_producer::Producer;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut p = Producer::builder("set-len").capacity(1 << 20).create()?;
    /// let x = p.field::<f64, _>("x", [1000, 3]).vector().variable().add()?;
    /// let atoms = p.particles("atoms", &x).add()?;
    /// let charge = p.field::<f32, _>("charge", [1000]).variable().on(&atoms).add()?;
    /// p.set_len(&atoms, 12)?;
    /// p.view_mut(x)?.fill(0.5); // all that there is room for
    /// p.publish(0, 0.0)?; // a version with 12 atoms
    /// assert_eq!((p.len(charge)?, p.len(&atoms)?), (12, 12));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_len(&mut self, of: impl Lengths, len: usize) -> Result<(), DefineError> {
        let field = of.field_in(self)?;
        self.table.set_lens(&BTreeMap::from([(field, len)]))
    }

    /// Sets several lengths at once, of fields or meshes by their names, as
    /// [`Producer::set_len`] sets one. Each of them is exactly the given one, whatever follows from
    /// the others, so it is an error if they do not fit one mesh.
    ///
    /// After an error all lengths are as they were.
    pub fn set_lens(&mut self, lens: &[(&str, usize)]) -> Result<(), DefineError> {
        let lens = lens.iter();
        let lens = lens.map(|(name, len)| Ok::<_, DefineError>((name.field_in(self)?, *len)));
        let lens = lens.collect::<Result<BTreeMap<_, _>, _>>()?;
        self.table.set_lens(&lens)
    }

    /// Returns the length that a field has in the next version, or a mesh: the number of its
    /// points, of a rectilinear or curvilinear mesh along its slowest axis. Fails for an item that
    /// is not of this producer, and for a uniform mesh, whose points are no field:
    /// [`Producer::mesh_description`] has their number.
    pub fn len(&self, of: impl Lengths) -> Result<usize, DefineError> {
        let field = of.field_in(self)?;
        Ok(self.table.fields[field].desc.length())
    }
}

impl<T, D, M> sealed::Sealed for Field<T, D, M> {}
impl<T, D, M> Lengths for Field<T, D, M> {
    fn field_in(&self, producer: &Producer) -> Result<usize, DefineError> {
        producer.check_handle(self.region)?;
        Ok(self.field)
    }
}

impl sealed::Sealed for MeshHandle {}
impl Lengths for MeshHandle {
    fn field_in(&self, producer: &Producer) -> Result<usize, DefineError> {
        producer.check_handle(self.region)?;
        points_of(producer, self.mesh)
    }
}

impl sealed::Sealed for str {}
impl Lengths for str {
    fn field_in(&self, producer: &Producer) -> Result<usize, DefineError> {
        producer.check_usable()?;
        let meshes = &producer.table.meshes;
        match meshes.iter().position(|mesh| mesh.name == *self) {
            Some(mesh) => points_of(producer, mesh),
            None => producer.number_of(self),
        }
    }
}

impl<L: Lengths + ?Sized> sealed::Sealed for &L {}
impl<L: Lengths + ?Sized> Lengths for &L {
    fn field_in(&self, producer: &Producer) -> Result<usize, DefineError> {
        (**self).field_in(producer)
    }
}

/// Returns the field whose length is the number of points of a mesh.
fn points_of(producer: &Producer, mesh: usize) -> Result<usize, DefineError> {
    let mesh = &producer.table.meshes[mesh];
    match points_field(mesh) {
        Some(field) => producer.number_of(field),
        None => Err(DefineError::FixedMesh {
            mesh: mesh.name.clone(),
        }),
    }
}
