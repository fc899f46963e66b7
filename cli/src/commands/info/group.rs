//! The description of a group: its ranks on this host, and the fields that they have.

use crate::agreed::{self, Agreed};
use crate::failure::Failure;
use crate::output::{self, Table, bytes};
use crate::plain;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tcasm_core::group::region_name;
use tcasm_observer::{FieldDesc, GroupError, GroupObserver, GroupVersion, Observer};

/// The output. The names of the fields are the JSON keys, which scripts rely on.
#[derive(Debug, Serialize)]
pub struct GroupInfo {
    name: String,
    latest: Option<Latest>,
    /// The newest step that all ranks on all hosts have, if an agent runs here.
    agreed: Option<Agreed>,
    /// The reason why the agents have none.
    agreed_error: Option<String>,
    /// The reason why there is no common step now, or why there will be none that is newer.
    error: Option<String>,
    members: Vec<Rank>,
    fields: Vec<Field>,
}

/// The newest step that all ranks of this host have.
#[derive(Debug, Serialize)]
struct Latest {
    step: u64,
    time: f64,
    run: String,
    /// The number of ranks on all hosts.
    ranks: u32,
}

#[derive(Debug, Serialize)]
struct Rank {
    rank: u32,
    region: String,
    pid: u64,
    alive: bool,
    versions: usize,
    held_bytes: u64,
}

/// A field of one or more ranks.
#[derive(Debug, Serialize)]
struct Field {
    name: String,
    dtype: String,
    components: usize,
    unit: String,
    /// The shape of the global array, or `None` if the field is local to each rank.
    global_shape: Option<Vec<usize>>,
    /// The number of ranks of this host that have the field.
    blocks: usize,
    /// True if the blocks have all of the global array.
    complete: bool,
    bytes: u64,
    /// The reason why the blocks are no global array, although they have places.
    error: Option<String>,
}

/// Describes the group.
pub fn gather(group: &mut GroupObserver) -> Result<GroupInfo, Failure> {
    let (version, error) = match group.latest() {
        Ok(version) => (Some(version), None),
        Err(error) if passes(&error) => (None, Some(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let end = group.wait_newer(Duration::ZERO).err().filter(is_end);
    let error = error.or_else(|| end.map(|error| error.to_string()));
    let (agreed, agreed_error) = match agreed::of(group) {
        Ok(agreed) => (agreed, None),
        Err(why) => (None, Some(why)),
    };
    let name = group.name().to_owned();
    let members = group
        .members()
        .map(|(rank, observer)| member(&name, rank, observer));
    Ok(GroupInfo {
        members: members.collect::<Result<_, Failure>>()?,
        latest: version.as_ref().map(latest),
        fields: version.as_ref().map(fields).unwrap_or_default(),
        agreed,
        agreed_error,
        error,
        name,
    })
}

/// Returns true if there may be a step of all ranks later, or has been one.
fn passes(error: &GroupError) -> bool {
    use GroupError::{Absent, EndOfStream, Lost, NotReady, OtherRun};
    let passes = matches!(error, Absent { .. } | NotReady { .. } | OtherRun { .. });
    passes || matches!(error, EndOfStream { .. } | Lost { .. })
}

/// Returns true if a rank has ended or died.
fn is_end(error: &GroupError) -> bool {
    matches!(
        error,
        GroupError::EndOfStream { .. } | GroupError::Lost { .. }
    )
}

fn latest(version: &GroupVersion) -> Latest {
    Latest {
        step: version.step(),
        time: version.time(),
        run: version.run().to_owned(),
        ranks: version.ranks(),
    }
}

fn member(group: &str, rank: u32, observer: &Observer) -> Result<Rank, Failure> {
    let known = observer.info()?;
    Ok(Rank {
        rank,
        region: region_name(group, rank),
        pid: known.pid,
        alive: observer.producer_alive(),
        versions: observer.available()?.len(),
        held_bytes: known.counter("HeldBytes").unwrap_or(0),
    })
}

/// Describes the fields, in the order in which ranks have added them.
fn fields(version: &GroupVersion) -> Vec<Field> {
    let mut firsts: Vec<&FieldDesc> = Vec::new();
    let mut seen = BTreeMap::new();
    for (_, member) in version.members() {
        for desc in &member.table().fields {
            if seen.insert(desc.name.as_str(), ()).is_none() {
                firsts.push(desc);
            }
        }
    }
    firsts
        .into_iter()
        .map(|first| field(version, first))
        .collect()
}

fn field(version: &GroupVersion, first: &FieldDesc) -> Field {
    let blocks: Vec<_> = version.blocks(&first.name).collect();
    let has_places = blocks.iter().any(|block| block.field.global.is_some());
    let global = has_places.then(|| version.global(&first.name));
    let found = global.as_ref().and_then(|global| global.as_ref().ok());
    Field {
        name: first.name.clone(),
        dtype: first.dtype.to_string(),
        components: first.components,
        unit: first.unit.clone(),
        global_shape: found.map(|global| global.shape().to_vec()),
        blocks: blocks.len(),
        complete: found.is_some_and(|global| global.missing().is_empty()),
        bytes: blocks.iter().map(|block| block.field.bytes()).sum(),
        error: global.and_then(Result::err).map(|error| error.to_string()),
    }
}

pub fn text(info: &GroupInfo) -> String {
    let mut out = head(info);
    if !info.fields.is_empty() {
        out += "\nfields\n";
        out += &field_table(&info.fields);
    }
    out += "\nranks of this host\n";
    let mut table = Table::indented(2);
    table.row(["RANK", "REGION", "PID", "STATE", "VERSIONS", "MEMORY"]);
    for rank in &info.members {
        table.row([
            rank.rank.to_string(),
            rank.region.clone(),
            rank.pid.to_string(),
            if rank.alive { "running" } else { "gone" }.to_owned(),
            rank.versions.to_string(),
            bytes(rank.held_bytes),
        ]);
    }
    out + &table.render()
}

fn head(info: &GroupInfo) -> String {
    let line = |title: &str, text: &str| plain::line(&format!("{title:<8}{text}"));
    let here = info.members.len();
    let mut out = line("group", &info.name);
    match &info.latest {
        Some(latest) => {
            let time = output::number(latest.time);
            let newest = format!(
                "step {}, t = {time}, in all ranks of this host",
                latest.step
            );
            out += &line("run", &latest.run);
            out += &line("ranks", &format!("{here} here, {} in all", latest.ranks));
            out += &line("latest", &newest);
        }
        None => out += &line("ranks", &format!("{here} here")),
    }
    if let Some(agreed) = &info.agreed {
        out += &line("agreed", &agreed.text());
    }
    if let Some(why) = &info.agreed_error {
        out += &line("agreed", &format!("none: {why}"));
    }
    let note = info.error.as_ref().map(|error| line("note", error));
    out + &note.unwrap_or_default()
}

fn field_table(fields: &[Field]) -> String {
    let mut table = Table::indented(2);
    table.row(["NAME", "DTYPE", "GLOBAL SHAPE", "BLOCKS", "UNIT", "SIZE"]);
    for field in fields {
        let shape = field.global_shape.as_deref().map(output::shape);
        let shape = match (shape, &field.error) {
            (_, Some(error)) => format!("none: {error}"),
            (None, None) => "local".to_owned(),
            (Some(shape), None) if field.complete => shape,
            (Some(shape), None) => format!("{shape}, not all here"),
        };
        let components = match field.components {
            1 => String::new(),
            n => format!(" ({n} components)"),
        };
        table.row([
            field.name.clone(),
            field.dtype.clone(),
            shape + &components,
            field.blocks.to_string(),
            if field.unit.is_empty() {
                "-"
            } else {
                &field.unit
            }
            .to_owned(),
            bytes(field.bytes),
        ]);
    }
    table.render()
}
