//! Makes the parity of a set's files. Each node sends pieces of its file to the nodes that have
//! parity of them.

use super::code;
use super::error::JobError;
use super::hashed;
use super::messages::Messages;
use super::parity_file::{Header, NewParity, data_piece, pieces};
use super::record::FileEntry;
use crate::file::{Mode, regular};
use std::fs::File;
use std::path::Path;

/// A set, and the place of this node in it.
pub struct Set<'s> {
    /// The nodes of the set.
    pub nodes: &'s [usize],
    /// The number of this node among them.
    pub member: usize,
}

/// The state of one node while the parity of its set is made.
struct Work<'w, M> {
    messages: &'w mut M,
    set: &'w Set<'w>,
    header: Header,
    /// The file of this node, if it can be opened.
    data: Option<File>,
    /// The first error of this node. The exchange goes on after it, because the others need it.
    error: Option<String>,
}

/// Writes the parity that this node has of the files of its set to `to`. `own` is the file of this
/// node at `path`, or the reason why there is none. All nodes of the set must call this.
///
/// The outer error means that a node is lost. The inner one says why this node has no parity: then
/// the others may have some.
pub fn protect<M: Messages>(
    messages: &mut M,
    set: &Set<'_>,
    header: impl FnOnce(Vec<FileEntry>) -> Header,
    (path, own): (&Path, Result<FileEntry, String>),
    (to, mode): (&Path, Mode),
) -> Result<Result<FileEntry, String>, JobError> {
    let files = match exchange(messages, set, own)? {
        Ok(files) => files,
        Err(why) => return Ok(Err(why)),
    };
    let mut work = Work {
        messages,
        set,
        header: header(files),
        data: None,
        error: None,
    };
    let data = regular::open(path).map_err(|e| format!("{path:?} cannot be read: {e}"));
    work.data = work.note(data);
    work.run(to, mode)
}

/// Tells the others of the set of this node's file. Returns the files of all.
fn exchange<M: Messages>(
    messages: &mut M,
    set: &Set<'_>,
    own: Result<FileEntry, String>,
) -> Result<Result<Vec<FileEntry>, String>, JobError> {
    let text = serde_json::to_vec(&own).unwrap_or_default();
    for node in others(set) {
        messages.send(node, text.clone())?;
    }
    let mut all = Vec::new();
    for node in set.nodes {
        let found = match *node == set.nodes[set.member] {
            true => own.clone(),
            false => {
                let text = messages.receive(*node)?;
                let found: Result<Result<FileEntry, String>, _> = serde_json::from_slice(&text);
                found.unwrap_or_else(|e| Err(format!("its message cannot be read: {e}")))
            }
        };
        all.push(found.map_err(|why| format!("node {node}: {why}")));
    }
    Ok(all.into_iter().collect())
}

fn others<'s>(set: &'s Set<'_>) -> impl Iterator<Item = usize> + 's {
    let own = set.nodes[set.member];
    set.nodes.iter().copied().filter(move |node| *node != own)
}

impl<M: Messages> Work<'_, M> {
    fn run(&mut self, to: &Path, mode: Mode) -> Result<Result<FileEntry, String>, JobError> {
        let file = NewParity::begin(to, &self.header, mode);
        let file = self.note(file);
        for (at, length) in pieces(self.header.chunk) {
            self.send(at, length)?;
            self.receive(at, length, file.as_ref())?;
        }
        // An incomplete file is removed when it is dropped.
        if let (Some(file), None) = (file, &self.error) {
            let committed = file.commit();
            self.note(committed);
        }
        Ok(match self.error.take() {
            Some(why) => Err(why),
            None => hashed::entry(to).map_err(|e| format!("{to:?}: {e}")),
        })
    }

    /// Sends a piece of each chunk of this node to the nodes that have parity of it.
    fn send(&mut self, at: u64, length: u64) -> Result<(), JobError> {
        for stripe in self.header.redundancy.stripes(self.set.nodes.len()) {
            let own = stripe.data.iter().find(|(m, _)| *m == self.set.member);
            let Some((_, chunk)) = own else { continue };
            let chunk_bytes = self.header.chunk;
            let data = self.data.as_ref();
            let piece = data.map(|data| data_piece(data, chunk_bytes, *chunk, at, length));
            // An empty message says that there is none.
            let piece = piece.and_then(|piece| self.note(piece)).unwrap_or_default();
            for holder in stripe.parity {
                self.messages.send(self.set.nodes[holder], piece.clone())?;
            }
        }
        Ok(())
    }

    /// Receives a piece of all stripes whose parity this node has, and writes their parity.
    fn receive(&mut self, at: u64, length: u64, to: Option<&NewParity>) -> Result<(), JobError> {
        let stripes = self.header.redundancy.stripes(self.set.nodes.len());
        for (slot, (s, which)) in self.header.stripes().into_iter().enumerate() {
            let mut data = Vec::new();
            for (member, _) in &stripes[s].data {
                let node = self.set.nodes[*member];
                let piece = self.messages.receive(node)?;
                if piece.len() as u64 != length {
                    self.note::<(), _>(Err(format!("node {node} cannot read its file")));
                }
                data.push(piece);
            }
            let (None, Some(to)) = (&self.error, to) else {
                continue;
            };
            let parity = code::encode(&data, stripes[s].parity.len());
            let Some(parity) = self.note(parity) else {
                continue;
            };
            let put = to.put(slot, at, &parity[which]);
            self.note(put);
        }
        Ok(())
    }

    /// Returns the value, or notes the error.
    fn note<T, E: ToString>(&mut self, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::channels;
    use super::super::scheme::Redundancy;
    use super::*;

    /// Protects the files of two nodes. That of node 1 is gone after its hash was made.
    fn protect_without_file_of_node_1(
        dir: &Path,
        node: usize,
        mut messages: impl Messages,
    ) -> String {
        let (path, to) = (
            dir.join(format!("{node}")),
            dir.join(format!("{node}.parity")),
        );
        std::fs::write(&path, [7; 5000]).unwrap();
        let own = hashed::entry(&path).unwrap();
        if node == 1 {
            std::fs::remove_file(&path).unwrap();
        }
        let set = Set {
            nodes: &[0, 1],
            member: node,
        };
        let header = |files: Vec<FileEntry>| Header {
            group: "heat".to_owned(),
            step: 1,
            redundancy: Redundancy::Partner,
            member: node,
            chunk: Header::chunk(Redundancy::Partner, &files),
            set: set.nodes.to_vec(),
            files,
        };
        let to = (to.as_path(), Mode::USUAL);
        protect(&mut messages, &set, header, (&path, Ok(own)), to)
            .unwrap()
            .unwrap_err()
    }

    #[test]
    fn node_that_cannot_open_its_file_tells_the_others_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        let [first, second] = <[_; 2]>::try_from(channels(2)).unwrap();
        let errors = std::thread::scope(|scope| {
            let first = scope.spawn(|| protect_without_file_of_node_1(path, 0, first));
            let second = protect_without_file_of_node_1(path, 1, second);
            [first.join().unwrap(), second]
        });
        assert_eq!(errors[0], "node 1 cannot read its file");
        assert!(
            errors[1].contains("cannot be read: No such file"),
            "{errors:?}"
        );
    }
}
