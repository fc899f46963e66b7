//! Meshes whose points have coordinates, as VTK stores them: unstructured grids, and poly data.

use super::made::Made;
use hdf5::Group;
use tcasm_core::field::{DType, FieldDesc};

/// The groups of cells that poly data has. Only the first one has any cells.
pub const TOPOLOGIES: [&str; 4] = ["Vertices", "Lines", "Polygons", "Strips"];

/// The arrays of a mesh whose points have coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Explicit<'t> {
    /// The points, with three coordinates each.
    pub points: Source<'t>,
    /// The points of all cells.
    pub connectivity: Source<'t>,
    /// The place in `connectivity` at which each cell begins, and the end of the last one.
    pub offsets: Source<'t>,
    /// The types of the cells, or `None` for vertices, which are poly data.
    pub types: Option<Source<'t>>,
    /// The sizes of the arrays.
    pub counts: Counts,
}

/// The sizes of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of points.
    pub points: usize,
    /// The number of cells.
    pub cells: usize,
    /// The number of values of the connectivity.
    pub ids: usize,
}

/// The source of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Source<'t> {
    /// A field, as it lies in memory.
    Field(&'t FieldDesc),
    /// Values that are made for VTK.
    Made(Made<'t>),
}

impl<'t> Source<'t> {
    /// Returns the source of the points that `field` holds.
    pub fn points(field: &'t FieldDesc) -> Self {
        match field.components == 3 && !field.has_ghosts() {
            true => Source::Field(field),
            false => Source::Made(Made::Points(field)),
        }
    }

    /// Returns the shape of the array. Points have three coordinates each. All other arrays have
    /// one dimension.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Source::Made(made) => made.shape(),
            Source::Field(field) => {
                let count: usize = field.shape.iter().product();
                match field.dtype {
                    DType::F32 | DType::F64 => vec![count, 3],
                    _ => vec![count * field.components],
                }
            }
        }
    }

    /// Returns the fields whose values the array depends on.
    pub fn fields(&self) -> Vec<&'t FieldDesc> {
        match self {
            Source::Made(made) => made.fields(),
            Source::Field(field) => vec![*field],
        }
    }
}

impl<'t> Explicit<'t> {
    /// Returns vertices at the points of `positions`.
    pub fn particles(positions: &'t FieldDesc) -> Self {
        let count: usize = positions.interior_shape().iter().product();
        let ramp = |count| {
            Source::Made(Made::Ramp {
                step: 1,
                count,
                narrow: false,
            })
        };
        Explicit {
            points: Source::points(positions),
            connectivity: ramp(count),
            offsets: ramp(count + 1),
            types: None,
            counts: Counts {
                points: count,
                cells: count,
                ids: count,
            },
        }
    }

    /// Returns the arrays with their paths in the group of the mesh.
    pub fn arrays(&self) -> Vec<(&'static str, &Source<'t>)> {
        match &self.types {
            Some(types) => vec![
                ("Points", &self.points),
                ("Connectivity", &self.connectivity),
                ("Offsets", &self.offsets),
                ("Types", types),
            ],
            None => vec![
                ("Points", &self.points),
                ("Vertices/Connectivity", &self.connectivity),
                ("Vertices/Offsets", &self.offsets),
            ],
        }
    }

    /// Writes the sizes of a data set with parts of such sizes, which follow each other in its
    /// arrays, and the groups of cells that have none.
    pub fn describe(&self, group: &Group, parts: &[Counts]) -> hdf5::Result<()> {
        let of_parts = |of: fn(&Counts) -> usize| parts.iter().map(of).collect::<Vec<_>>();
        let [cells, ids] = [of_parts(|n| n.cells), of_parts(|n| n.ids)];
        numbers(group, "NumberOfPoints", &of_parts(|n| n.points))?;
        if self.types.is_some() {
            numbers(group, "NumberOfCells", &cells)?;
            return numbers(group, "NumberOfConnectivityIds", &ids);
        }
        let none = vec![0; parts.len()];
        for (name, of_first) in TOPOLOGIES.into_iter().zip([true, false, false, false]) {
            let topology = group.create_group(name)?;
            let [cells, ids] = [&cells, &ids].map(|n| if of_first { n } else { &none });
            numbers(&topology, "NumberOfCells", cells)?;
            numbers(&topology, "NumberOfConnectivityIds", ids)?;
            if !of_first {
                numbers(&topology, "Offsets", &none)?;
                no_ids(&topology)?;
            }
        }
        Ok(())
    }
}

/// Writes numbers as VTK's own writer does, which has 64 bits for them.
pub fn numbers(group: &Group, name: &str, values: &[usize]) -> hdf5::Result<()> {
    let values: Vec<i64> = values.iter().map(|n| *n as i64).collect();
    let builder = group.new_dataset_builder();
    builder.with_data(&values).create(name)?;
    Ok(())
}

/// Writes a connectivity without values.
pub fn no_ids(group: &Group) -> hdf5::Result<()> {
    let builder = group.new_dataset_builder().no_chunk();
    builder.empty::<i64>().shape(0).create("Connectivity")?;
    Ok(())
}
