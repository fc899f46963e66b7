//! The sizes of a mesh in each version.

use super::DataSet;
use crate::file::Fault;
use crate::series::temporal::arrays;
use crate::series::temporal::contents::Row;
use crate::write::layouts::vtkhdf::{self, Counts, Explicit, Geometry, TOPOLOGIES};
use tcasm_core::field::FieldTable;

/// Returns the result of `of` for each of `versions`. Calls it once for versions that follow each
/// other if the fields `fields` have the same lengths in them. A series may have many versions, and
/// its file is written again with each.
fn of_lengths<T: Clone>(
    versions: &[Row],
    fields: &[usize],
    mut of: impl FnMut(&Row) -> T,
) -> Vec<T> {
    let same = |a: &Row, b: &Row| fields.iter().all(|at| a.lens.get(*at) == b.lens.get(*at));
    let mut all = Vec::with_capacity(versions.len());
    for alike in versions.chunk_by(same) {
        all.extend(std::iter::repeat_n(of(&alike[0]), alike.len()));
    }
    all
}

/// Returns the sizes of a uniform mesh in a version: those of the arrays that are made for it.
fn made_counts(explicit: &Explicit<'_>, made: &[(usize, &str)], row: &Row) -> Counts {
    let mut counts = explicit.counts;
    for (number, path) in made {
        let Some(count) = row.made.get(*number).map(|made| made.count as usize) else {
            continue;
        };
        match *path {
            "Points" => counts.points = count,
            "Connectivity" => counts.ids = count,
            "Types" => counts.cells = count,
            _ => {}
        }
    }
    counts
}

impl DataSet<'_> {
    /// Returns the sizes of the mesh in each version.
    pub(super) fn counts(&self, explicit: &Explicit<'_>) -> Vec<Counts> {
        let (versions, geometry) = (&self.index.contents.versions, self.geometry());
        if geometry.is_empty() {
            let made = self.made();
            let all = versions.iter().map(|row| made_counts(explicit, &made, row));
            return all.collect();
        }
        of_lengths(versions, &geometry, |row| {
            let fields = geometry.iter().map(|at| {
                let mut field = self.index.table.fields[*at].clone();
                if let Some(len) = row.lens.get(*at) {
                    field.set_length(*len as usize);
                }
                field
            });
            let table = FieldTable {
                fields: fields.collect(),
                ..FieldTable::default()
            };
            match self.shown.mesh.map(|mesh| Geometry::of(&table, mesh)) {
                Some(Ok(Geometry::Explicit(now))) => now.counts,
                _ => explicit.counts,
            }
        })
    }

    /// Returns the arrays that are made for the mesh: the number and the path of each.
    pub(super) fn made(&self) -> Vec<(usize, &'static str)> {
        let all = arrays::made(self.plan).into_iter().enumerate();
        let own = all.filter(|(_, array)| std::ptr::eq(array.shown, self.shown));
        own.map(|(number, array)| (number, array.path)).collect()
    }

    /// Writes the sizes of the mesh in each version, and the groups of cells that have none.
    pub(super) fn sizes(&self, explicit: &Explicit<'_>, counts: &[Counts]) -> Result<(), Fault> {
        let of = |of: fn(&Counts) -> usize| counts.iter().map(of).collect::<Vec<usize>>();
        let (cells, ids) = (of(|n| n.cells), of(|n| n.ids));
        vtkhdf::numbers(self.group, "NumberOfPoints", &of(|n| n.points))?;
        if explicit.types.is_some() {
            vtkhdf::numbers(self.group, "NumberOfCells", &cells)?;
            vtkhdf::numbers(self.group, "NumberOfConnectivityIds", &ids)?;
            return Ok(());
        }
        let none = vec![0; counts.len()];
        for (number, name) in TOPOLOGIES.into_iter().enumerate() {
            let topology = self.group.create_group(name)?;
            let [cells, ids] = [&cells, &ids].map(|n| if number == 0 { n } else { &none });
            vtkhdf::numbers(&topology, "NumberOfCells", cells)?;
            vtkhdf::numbers(&topology, "NumberOfConnectivityIds", ids)?;
            if number > 0 {
                vtkhdf::numbers(&topology, "Offsets", &none)?;
                vtkhdf::no_ids(&topology)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::format::stamp::Stamp;

    fn row(lens: [u64; 2]) -> Row {
        Row {
            stamp: Stamp::default(),
            files: vec![1, 1],
            chapter: None,
            lens: lens.to_vec(),
            made: Vec::new(),
            blocks: Vec::new(),
        }
    }

    #[test]
    fn sizes_are_counted_once_as_long_as_the_lengths_stay() {
        let rows = [[3, 1], [3, 2], [3, 3], [0, 3], [3, 3], [3, 3]].map(row);
        let mut calls = 0;
        let lens = of_lengths(&rows, &[0], |row| {
            calls += 1;
            row.lens[0]
        });
        assert_eq!((lens, calls), (vec![3, 3, 3, 0, 3, 3], 3));
        let none = of_lengths(&rows, &[], |row| row.lens[1]);
        assert_eq!(none, [1; 6], "no field can change");
    }
}
