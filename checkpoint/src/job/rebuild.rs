//! Rebuilds files of lost nodes in this process, from the files and the parity of the others that
//! it can reach.

use super::error::JobError;
use super::lost_file::{LostFile, Own};
use super::parity_file::{Header, Parity, pieces};
use super::places::Places;
use super::plan::Key;
use super::received::Received;
use super::record::{Commit, Part};
use crate::error::WriteError;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The number of this process, which has all that is left.
const HERE: usize = 0;

/// Rebuilds the file of a node of `group` from the others of its set. `why` says why there is none.
pub fn rebuild(
    (group, of): (&str, &Commit),
    part: &Part,
    places: &Places,
    why: &str,
) -> Result<PathBuf, JobError> {
    let whole = whole((group, of), part.node, places);
    let [files, parities] =
        [false, true].map(|is_parity| holders(of, part.node, &whole, is_parity));
    let lost = LostFile::new(of, part.node, &files, &parities);
    if let (Some(lost), Some(into)) = (&lost, &places.rebuild_in)
        && lost.is_enough()
    {
        write(lost, &lost.own(HERE, group, &whole), part, places)?;
        return Ok(into.join(&part.file.file));
    }
    let hint = match &lost {
        Some(lost) if lost.is_enough() => "; give a folder to rebuild it in",
        _ => "",
    };
    let rest = lost.map_or_else(String::new, |lost| lost.rest());
    let what = format!("the file of node {} is lost ({why}){rest}{hint}", part.node);
    Err(JobError::BlocksLost {
        step: of.step,
        what,
    })
}

/// Returns the files and the parity of the set of a node that are whole.
fn whole((group, of): (&str, &Commit), node: usize, places: &Places) -> BTreeMap<Key, PathBuf> {
    let mut whole = BTreeMap::new();
    for part in set_of(of, node).iter().filter_map(|node| of.part(*node)) {
        let file = places.find(&part.file).ok();
        let parity = part.parity.as_ref().and_then(|entry| {
            let path = places.find(entry).ok()?;
            Parity::open(&path, &Header::of(group, of, part.node)?).ok()?;
            Some(path)
        });
        for (is_parity, path) in [(false, file), (true, parity)] {
            whole.extend(path.map(|path| {
                (
                    Key {
                        is_parity,
                        ..Key::file(part)
                    },
                    path,
                )
            }));
        }
    }
    whole
}

/// Returns, for each member of the set of a node, this process if it has its file, or its parity.
fn holders(
    of: &Commit,
    node: usize,
    whole: &BTreeMap<Key, PathBuf>,
    is_parity: bool,
) -> Vec<Option<usize>> {
    let step = of.step;
    let is_here = |node: usize| {
        whole.contains_key(&Key {
            step,
            node,
            is_parity,
        })
    };
    let set = set_of(of, node).iter();
    set.map(|node| is_here(*node).then_some(HERE)).collect()
}

fn set_of(of: &Commit, node: usize) -> &[usize] {
    of.set_of(node).unwrap_or_default()
}

/// Writes a lost file. It gets its name when its hash is right.
fn write(lost: &LostFile<'_>, own: &Own, part: &Part, places: &Places) -> Result<(), WriteError> {
    let mut received = Received::begin(places, &part.file);
    for (stripe, chunk) in lost.stripes() {
        for place in pieces(lost.chunk()) {
            if !received.is_good() {
                break;
            }
            let sources = lost.sources(&stripe).into_iter();
            let found = sources.map(|(_, piece)| (piece, own.read(piece, place)));
            let at = chunk as u64 * lost.chunk() + place.0;
            received.put(at, lost.compute(&stripe.1, found.collect()));
        }
    }
    received.finish(&part.file)
}
