//! `tcasm checkpoints`: lists the checkpoints in a folder.

use crate::failure::Failure;
use crate::files::args::CheckpointsArgs;
use crate::files::job;
use crate::files::stored::lossy;
use crate::{output, plain};
use serde_json::json;
use tcasm_checkpoint::{Contents, Item, Kind, ReadError, manifests, manifests_named};

pub fn run(args: &CheckpointsArgs) -> Result<(), Failure> {
    let name = args.name.as_deref();
    let jobs = job::manifests(std::slice::from_ref(&args.dir), name)?;
    let all = match name {
        Some(name) => manifests_named(&args.dir, name),
        None => manifests(&args.dir),
    };
    let all = match all {
        Err(ReadError::NoneFound(_) | ReadError::NoName { .. }) if !jobs.is_empty() => Vec::new(),
        all => all?,
    };
    match args.format.json {
        true => {
            let jobs = jobs.iter().map(job::as_json);
            let all = all.iter().map(|contents| Ok(as_json(contents))).chain(jobs);
            output::json(&json!(all.collect::<Result<Vec<_>, Failure>>()?))
        }
        false => {
            let jobs = jobs.iter().map(job::as_text);
            let all = all.iter().map(|contents| Ok(as_text(contents))).chain(jobs);
            output::text(&all.collect::<Result<String, Failure>>()?)
        }
    }
}

fn as_text(contents: &Contents) -> String {
    let mut text = plain::line(&format!("{}  (run {})", contents.region, contents.run));
    for item in contents.items.values() {
        text += &plain::line(&line(item, contents.files(item.entry.step)));
    }
    if let Some((step, why)) = &contents.failed {
        text += &plain::line(&format!("  step {step} failed: {why}"));
    }
    for number in &contents.damaged {
        text += &format!("  line {number} of the manifest is damaged and was passed over\n");
    }
    text
}

fn line(item: &Item, files: usize) -> String {
    let entry = &item.entry;
    let kind = match entry.kind {
        Kind::Full => "full".to_owned(),
        Kind::Increment { base } => format!("increment on step {base}, {files} files"),
    };
    let drained = if item.drained { "  copied" } else { "" };
    format!(
        "  step {:<10} t = {:<12} {:>10}  {kind}{}{drained}  {}",
        entry.step,
        output::number(entry.time),
        output::bytes(entry.bytes),
        lossy(entry.relative_error),
        entry.file
    )
}

fn as_json(contents: &Contents) -> serde_json::Value {
    let items = contents.items.values().map(|item| {
        let mut value = json!(item.entry);
        value["drained"] = json!(item.drained);
        value
    });
    json!({
        "region": contents.region,
        "run": contents.run,
        "checkpoints": items.collect::<Vec<_>>(),
        "failed": contents.failed.as_ref().map(|(step, why)| json!({ "step": step, "why": why })),
        "damaged_lines": contents.damaged,
    })
}
