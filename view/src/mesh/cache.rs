//! A cache of the versions before: choices of points, and surfaces.

use super::MeshError;
use super::fields::{Fields, Place};
use super::points::Places;
use super::sample::{Selection, kept, select};
use super::triangles::Surface;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tcasm_core::field::{CellType, Cells};

/// The time for which a choice of points is used. Points that come to another region of space
/// meanwhile may lack there.
const CHOICE: Duration = Duration::from_secs(2);
/// Delay before a surface is made coarser again of which nothing was left. Its points may have
/// moved apart.
const RETRY: Duration = Duration::from_secs(10);
/// Maximum number of choices, and of surfaces. When there are more, all are removed.
const MOST: usize = 16;

/// Choices of points, and surfaces. They are those of one run of a simulation.
#[derive(Debug, Default)]
pub struct Cache {
    choices: HashMap<(String, Place, usize), Choice>,
    surfaces: HashMap<(String, usize), Known>,
}

#[derive(Debug)]
struct Choice {
    made: Instant,
    selection: Arc<Selection>,
}

/// A surface, or the reason why there is none, with the cells that it was found for.
#[derive(Debug)]
struct Known {
    topology: Topology,
    fingerprint: u64,
    made: Instant,
    surface: Result<Arc<Surface>, MeshError>,
}

/// The cells of a version, without their values.
#[derive(Debug)]
struct Topology {
    size: Size,
    /// The places of the fields in the region. A field that was bound to another buffer may have
    /// other values though none of its pages has changed.
    offsets: Vec<u64>,
    version: u64,
}

/// The sizes of a topology.
#[derive(Clone, Debug, PartialEq)]
struct Size {
    points: usize,
    cell_type: Option<CellType>,
    /// The shapes of the fields.
    shapes: Vec<Vec<usize>>,
}

impl Choice {
    /// Returns true if the choice, of at most `most`, can be used for `count` points now, which are
    /// more. A choice of all points leaves no room for those that must be seen.
    fn fits(&self, count: usize, most: usize) -> bool {
        let Selection { numbers, all, .. } = &*self.selection;
        let inside = numbers.last().is_none_or(|last| (*last as usize) < count);
        let has_room = numbers.len() <= most - kept(most);
        inside && has_room && count.abs_diff(*all) <= *all / 16 && self.made.elapsed() < CHOICE
    }
}

impl Known {
    /// Returns true if the surface can be used, for points for which `fits` returns true.
    fn is_valid(&self, fits: impl FnOnce(&Surface) -> bool) -> bool {
        match &self.surface {
            Ok(surface) => fits(surface),
            Err(MeshError::Triangles { .. }) => self.made.elapsed() < RETRY,
            Err(_) => true,
        }
    }
}

impl Cache {
    /// Returns a choice of points of a mesh. The key is the name of the mesh, the kind of points,
    /// and the greatest number of them.
    pub fn selection(
        &mut self,
        (mesh, place, most): (&str, Place, usize),
        points: &impl Places,
    ) -> Arc<Selection> {
        let (key, count) = ((mesh.to_owned(), place, most), points.count());
        if count > most
            && let Some(choice) = self.choices.get(&key)
            && choice.fits(count, most)
        {
            return choice.selection.clone();
        }
        let selection = Arc::new(select(points, most));
        let choice = Choice {
            made: Instant::now(),
            selection: selection.clone(),
        };
        if self.choices.len() >= MOST {
            self.choices.clear();
        }
        self.choices.insert(key, choice);
        selection
    }

    /// Returns the surface of a mesh of `points` points. The key is the name of the mesh, and the
    /// greatest number of triangles. Calls `find` only if the cells differ from those of the
    /// version whose surface is known, or if that does not fit the points any more.
    pub fn surface(
        &mut self,
        fields: &impl Fields,
        (mesh, most): (&str, usize),
        cells: &Cells,
        points: usize,
        fits: impl FnOnce(&Surface) -> bool,
        find: impl FnOnce() -> Result<Surface, MeshError>,
    ) -> Result<Arc<Surface>, MeshError> {
        let key = (mesh.to_owned(), most);
        let topology = Topology::of(fields, cells, points)?;
        let before = self.surfaces.remove(&key);
        let before = before.filter(|known| known.topology.size == topology.size);
        let fingerprint = topology.fingerprint(before.as_ref(), fields, cells)?;
        let same = before.filter(|known| known.fingerprint == fingerprint && known.is_valid(fits));
        let (made, surface) = same.map_or_else(
            || (Instant::now(), find().map(Arc::new)),
            |known| (known.made, known.surface),
        );
        if self.surfaces.len() >= MOST {
            self.surfaces.clear();
        }
        let known = Known {
            topology,
            fingerprint,
            made,
            surface: surface.clone(),
        };
        self.surfaces.insert(key, known);
        surface
    }
}

impl Topology {
    fn of(fields: &impl Fields, cells: &Cells, points: usize) -> Result<Self, MeshError> {
        let (mut shapes, mut offsets) = (Vec::new(), Vec::new());
        for name in cells.fields() {
            let (desc, _) = fields.get(name)?;
            shapes.push(desc.shape.clone());
            offsets.push(desc.offset);
        }
        let cell_type = match cells {
            Cells::Same { cell_type, .. } => Some(*cell_type),
            Cells::Mixed { .. } => None,
        };
        Ok(Topology {
            size: Size {
                points,
                cell_type,
                shapes,
            },
            offsets,
            version: fields.version(),
        })
    }

    /// Returns the fingerprint of the cells. Reads them only if they may differ from those of
    /// `before`, which have the same size.
    fn fingerprint(
        &self,
        before: Option<&Known>,
        fields: &impl Fields,
        cells: &Cells,
    ) -> Result<u64, MeshError> {
        match before.filter(|known| self.is_unchanged(&known.topology, fields, cells)) {
            Some(known) => Ok(known.fingerprint),
            None => fingerprint_of(fields, cells),
        }
    }

    /// Returns true if the version says that the cells are those of `before`, of the same size.
    fn is_unchanged(&self, before: &Topology, fields: &impl Fields, cells: &Cells) -> bool {
        let next = before.version.checked_add(1) == Some(self.version);
        self.version == before.version
            || (next && self.offsets == before.offsets && fields.same_as_before(&cells.fields()))
    }
}

/// Returns the fingerprint of the fields that describe the cells.
fn fingerprint_of(fields: &impl Fields, cells: &Cells) -> Result<u64, MeshError> {
    cells.fields().iter().try_fold(0, |sum, name| {
        let (_, bytes) = fields.get(name)?;
        Ok::<u64, MeshError>(fingerprint(sum, bytes))
    })
}

/// Number of words that are mixed independently of each other, so that the processor need not wait
/// for one to mix the next.
const LANES: usize = 4;

/// Returns a number that differs for most other bytes, and depends on `seed`.
fn fingerprint(seed: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let (groups, others) = words.as_chunks::<LANES>();
    let mut lanes = [seed, !seed, bytes.len() as u64, FACTOR];
    for group in groups {
        for (lane, word) in lanes.iter_mut().zip(group) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = others
        .iter()
        .chain([&last])
        .map(|word| u64::from_le_bytes(*word));
    lanes.into_iter().chain(words).fold(seed, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_of_all_points_is_not_used_when_there_are_too_many() {
        let points = |count: usize| -> Vec<[f64; 3]> {
            let places = (0..count).map(|number| [number as f64, 0.0, 0.0]);
            places.collect()
        };
        let (mut cache, key) = (Cache::default(), ("dust", Place::Points, 1000));
        let all = cache.selection(key, &points(1000));
        assert_eq!(all.numbers.len(), 1000);
        // So few more that a choice of some points would be used again.
        let some = cache.selection(key, &points(1030));
        assert!(some.numbers.len() <= 1000 - kept(1000), "no room is left");
    }

    #[test]
    fn fingerprint_depends_on_each_byte_and_their_number() {
        let bytes: Vec<u8> = (0..75).collect();
        let whole = fingerprint(0, &bytes);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(fingerprint(0, &other), whole, "byte {at}");
            assert_ne!(fingerprint(0, &bytes[..at]), whole, "{at} bytes");
        }
        assert_ne!(fingerprint(1, &bytes), whole);
        assert_ne!(fingerprint(0, &[0; 8]), fingerprint(0, &[0; 9]));
    }
}
