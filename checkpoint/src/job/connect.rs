//! Connects the writers of all nodes. If one node cannot take part, all learn why.

use super::collective::{broadcast, gather, whole};
use super::error::JobError;
use super::manifest::{self, Contents, Manifest};
use super::messages::Messages;
use super::names;
use super::prepared::Prepared;
use super::record::Level;
use super::retention::Known;
use super::sets::sets;
use super::settings::JobSettings;
use super::writer::{JobWriter, files};
use crate::error::WriteError;
use crate::file::{Lock, atomic};
use crate::format::names::usable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io;

/// The local folder of a node, locked, and the contents of the manifest.
struct Local {
    lock: Lock,
    contents: Contents,
    prepared: Prepared,
}

impl<M: Messages> JobWriter<M> {
    /// Connects the nodes of a job. `failure_group` is the name of what fails together with this
    /// node: the node itself, its rack, or its power supply. Nodes protect only nodes of other
    /// failure groups.
    ///
    /// Fails on all nodes if another process writes the checkpoints of a node or the manifest of
    /// the group, or if a local folder has files that belong to another manifest. The error of the
    /// other nodes names the node, and has its error.
    pub fn connect(
        settings: JobSettings,
        failure_group: &str,
        mut messages: M,
    ) -> Result<Self, JobError> {
        let node = messages.node();
        let manifest = open_manifest(&settings, node);
        let told = |_: &_| failure_group.to_owned();
        let (manifest, groups) = agree(&mut messages, &settings.group, manifest, told)?;
        let least = settings.redundancy.least_nodes();
        let sets = sets(&groups, settings.set_size.max(least), least)?;
        let local = Local::open(&settings, node);
        // Node 0 changes the manifest when all have read the same.
        let (local, _) = agree(&mut messages, &settings.group, local, |_| ())?;
        let writer = JobWriter {
            known: known(&local.contents),
            undrained: local.contents.undrained,
            settings,
            messages,
            sets,
            manifest,
            prepared: local.prepared,
            pending: None,
            last: None,
            lock: local.lock,
        };
        writer.remove_temporary_files();
        Ok(writer)
    }

    /// Removes what a killed writer of this node has left half-written, on both tiers.
    fn remove_temporary_files(&self) {
        if !self.lock.is_held() {
            return;
        }
        let (group, node) = (&self.settings.group, self.node());
        let manifest = self.manifest.as_ref();
        let own_manifest = manifest.is_some_and(Manifest::is_locked);
        let own = |file: &str| {
            names::step_of(group, node, file).is_some()
                || file == names::prepared(group, node)
                || (node == 0 && names::is_vtkhdf(group, file))
                || (own_manifest && file == names::manifest(group))
        };
        let tiers = [&self.settings.local, &self.settings.slow];
        for path in tiers.into_iter().flat_map(|dir| files(dir)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if atomic::is_temporary(&name, own)
                && let Err(error) = std::fs::remove_file(&path)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!("cannot remove {path:?}: {error}");
            }
        }
    }
}

impl Local {
    fn open(settings: &JobSettings, node: usize) -> Result<Local, JobError> {
        let JobSettings {
            group, local, slow, ..
        } = settings;
        let lock = Lock::take(local, &names::node(group, node), settings.options.mode)?;
        let contents = manifest::read(slow, group)?;
        let mut prepared = Prepared::read(local, group, node)?;
        if prepared.manifest != contents.created && !prepared.parts.is_empty() {
            return Err(JobError::OtherManifest {
                dir: local.clone(),
                node,
                group: group.clone(),
            });
        }
        prepared.manifest = contents.created;
        Ok(Local {
            lock,
            contents,
            prepared,
        })
    }
}

/// Checks the name of the group. Opens and locks the manifest, on node 0.
fn open_manifest(settings: &JobSettings, node: usize) -> Result<Option<Manifest>, JobError> {
    let JobSettings { group, slow, .. } = settings;
    if !usable(&names::node(group, node)) {
        return Err(WriteError::Name(group.clone()).into());
    }
    if node != 0 {
        return Ok(None);
    }
    let mode = settings.options.mode;
    Ok(Some(Manifest::open(slow, group, mode)?))
}

/// Returns what all nodes know of the committed checkpoints.
fn known(contents: &Contents) -> BTreeMap<u64, Known> {
    let known = contents.steps.iter().map(|(step, found)| {
        // Some nodes may have written increments and others not. All keep the same steps.
        let base = found.commit.parts.iter().find_map(|part| part.base);
        let drained = found.level == Level::Drained;
        (*step, Known { base, drained })
    });
    known.collect()
}

/// Returns what this node has, and what all nodes tell of theirs. If some nodes have failed, they
/// get their own errors, and the others one that has all of these.
fn agree<M, T, V>(
    messages: &mut M,
    group: &str,
    own: Result<T, JobError>,
    told: impl FnOnce(&T) -> V,
) -> Result<(T, Vec<V>), JobError>
where
    M: Messages,
    V: Serialize + DeserializeOwned,
{
    let vote = own.as_ref().map(told).map_err(ToString::to_string);
    let votes = gather(messages, vote)?;
    let all: Result<Vec<V>, Vec<String>> = broadcast(messages, votes.map(whole))?;
    let group = group.to_owned();
    let all = all.map_err(|why| JobError::NotConnected { group, why });
    Ok((own?, all?))
}
