//! Writes the tables of `docs/performance.md` from measured values:
//!
//! `report CRITERION_DIR BARS.md CHECKPOINTS.md [ROWS.json ABLATION.md [MORE_ROWS.json]] >
//! docs/performance.md`
//!
//! BARS.md, CHECKPOINTS.md and ABLATION.md are the output of `bars`, `checkpoints` and
//! `tcasm-ablation`. ROWS.json is written by `tcasm-compare`, and MORE_ROWS.json by a second run of
//! it as another user.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tcasm_compare::user::User;

const USAGE: &str = "usage: report CRITERION_DIR BARS.md CHECKPOINTS.md [ROWS.json ABLATION.md \
                     [MORE_ROWS.json]]";

/// The result of one benchmark: for each sample, the nanoseconds per call, in ascending order.
struct Row {
    name: String,
    samples: Vec<f64>,
}

impl Row {
    fn quantile(&self, q: f64) -> f64 {
        let at = (self.samples.len() as f64 * q).ceil() as usize;
        self.samples[at.clamp(1, self.samples.len()) - 1]
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or(USAGE)?;
    let text = |nth| std::env::args().nth(nth).map(std::fs::read_to_string);
    let (bars, checkpoints) = (text(2).transpose()?, text(3).transpose()?);
    let mut rows = Vec::new();
    collect(Path::new(&dir), &mut rows)?;
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    print!("{}", page(&rows, &bars.unwrap_or_default())?);
    if let Some(checkpoints) = checkpoints {
        let about = include_str!("performance.checkpoints.md");
        print!("\n{about}\n{checkpoints}");
    }
    if let Some(compared) = text(4).transpose()? {
        let mut compared: Vec<Value> = serde_json::from_str(&compared)?;
        if let Some(more) = text(6).transpose()? {
            compared.extend(serde_json::from_str::<Vec<Value>>(&more)?);
        }
        print!("{}", comparison(&compared)?);
        let ablation = text(5).ok_or("the file ABLATION.md is missing")??;
        print!("{}\n{ablation}", include_str!("performance.ablation.md"));
        print!("{}", include_str!("performance.limits.md"));
    }
    Ok(())
}

/// Reads each `new/benchmark.json` below `dir`, and the `sample.json` beside it.
fn collect(dir: &Path, rows: &mut Vec<Row>) -> Result<(), Box<dyn std::error::Error>> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.ends_with("new") && path.join("sample.json").exists() {
            rows.push(row(&path)?);
        } else if path.is_dir() {
            collect(&path, rows)?;
        }
    }
    Ok(())
}

fn row(dir: &Path) -> Result<Row, Box<dyn std::error::Error>> {
    let read = |name: &str| -> Result<Value, Box<dyn std::error::Error>> {
        Ok(serde_json::from_str(&std::fs::read_to_string(
            dir.join(name),
        )?)?)
    };
    let numbers = |value: &Value| -> Vec<f64> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect()
    };
    let sample = read("sample.json")?;
    let (iterations, times) = (numbers(&sample["iters"]), numbers(&sample["times"]));
    let mut samples: Vec<f64> = times.iter().zip(&iterations).map(|(t, n)| t / n).collect();
    samples.sort_by(f64::total_cmp);
    let name = read("benchmark.json")?["full_id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    Ok(Row { name, samples })
}

fn page(rows: &[Row], bars: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut out = String::from(include_str!("performance.head.md"));
    writeln!(out, "\n## The machine\n\n{}", machine())?;
    writeln!(
        out,
        "\n{}\n\n{bars}",
        include_str!("performance.bars.md").trim_end()
    )?;
    writeln!(
        out,
        "\n## All benches\n\n| bench | median | p99 | max | samples |\n|---|---|---|---|---|"
    )?;
    for r in rows {
        let [median, p99, max] = [0.5, 0.99, 1.0].map(|q| time(r.quantile(q)));
        writeln!(
            out,
            "| {} | {median} | {p99} | {max} | {} |",
            r.name,
            r.samples.len()
        )?;
    }
    writeln!(
        out,
        "\nA sample is the mean of several calls. Criterion chooses their number."
    )?;
    writeln!(
        out,
        "\n## publish compared with harvest + copy\n\n\
         | pages written | publish / harvest + copy, medians |\n|---|---|"
    )?;
    for r in rows.iter().filter(|r| r.name.contains("/publish/")) {
        let reference = r.name.replace("/publish/", "/harvest + copy/");
        if let Some(reference) = rows.iter().find(|o| o.name == reference) {
            let share = r.name.rsplit('/').next().unwrap_or_default();
            writeln!(
                out,
                "| {share} | {:.2} |",
                r.quantile(0.5) / reference.quantile(0.5)
            )?;
        }
    }
    Ok(out)
}

/// Formats the rows of the comparison, with a table for each pattern.
fn comparison(rows: &[Value]) -> Result<String, std::fmt::Error> {
    let mut out = String::from(include_str!("performance.compare.md"));
    let mut sizes: Vec<u64> = rows.iter().filter_map(|r| r["bytes"].as_u64()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let sizes: Vec<_> = sizes.iter().map(|b| format!("{} MiB", b >> 20)).collect();
    let user = rows.first().map_or("", user_of);
    write!(out, "\nBuffers of {}.", sizes.join(" and "))?;
    if !user.is_empty() {
        write!(
            out,
            " Measured as {user}, apart from rows that name another user."
        )?;
    }
    out.push('\n');
    let mut patterns: Vec<&str> = Vec::new();
    for pattern in rows.iter().filter_map(|r| r["pattern"].as_str()) {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    for pattern in patterns {
        writeln!(
            out,
            "\n### {pattern}\n\n\
             | pages | observers | method | stall p50 | p99 | max | step added \
             | visible | held MiB | |\n\
             |---|---|---|---|---|---|---|---|---|---|"
        )?;
        let mut of_pattern: Vec<_> = rows.iter().filter(|r| r["pattern"] == pattern).collect();
        // Methods with the same coverage and number of observers are next to each other.
        of_pattern.sort_by_key(|r| (r["coverage"].as_u64(), r["observers"].as_u64()));
        for row in of_pattern {
            out.push_str(&compared_line(row, user));
        }
    }
    Ok(out)
}

/// Returns the user as whom a row was measured.
fn user_of(row: &Value) -> &str {
    row["user"].as_str().unwrap_or_default()
}

/// Formats a row. Names its user if that is not `user`.
fn compared_line(row: &Value, user: &str) -> String {
    let us = |name: &str| time(row[name].as_f64().unwrap_or(f64::NAN) * 1e3);
    let ms = |name: &str| {
        row[name]
            .as_f64()
            .map_or("-".to_owned(), |ms| time(ms * 1e6))
    };
    let held = row["held_bytes"].as_u64().unwrap_or_default() >> 20;
    let mut remarks = Vec::new();
    if row["correct"] != true {
        remarks.push("**wrong**".to_owned());
    }
    if row["skipped"].as_u64().is_some_and(|n| n > 0) {
        remarks.push(format!("{} skipped", row["skipped"]));
    }
    if user_of(row) != user {
        remarks.push(user_of(row).to_owned());
    }
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let method = match text("mode").as_str() {
        "default" => text("method"),
        mode => format!("{} {mode}", text("method")),
    };
    format!(
        "| {} % | {} | {method} | {} | {} | {} | {} | {} | {held} | {} |\n",
        row["coverage"],
        row["observers"],
        us("stall_us_p50"),
        us("stall_us_p99"),
        us("stall_us_max"),
        ms("step_added_ms"),
        ms("visible_ms"),
        remarks.join(", "),
    )
}

fn time(ns: f64) -> String {
    match ns.abs() {
        n if n < 1e3 => format!("{ns:.0} ns"),
        n if n < 1e6 => format!("{:.1} us", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

/// Describes the machine that the measurements ran on.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(PathBuf::from(path)).unwrap_or_default();
    let field = |text: &str, key: &str| {
        let line = text
            .lines()
            .find(|l| l.starts_with(key))
            .unwrap_or_default();
        line.split_once(':')
            .map_or(String::new(), |(_, v)| v.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    format!(
        "- {} ({cores} cores)\n- memory: {}\n- Linux {}\n- transparent huge pages: {}\n\
         - measured as: {}",
        field(&read("/proc/cpuinfo"), "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/sys/kernel/osrelease").trim(),
        read("/sys/kernel/mm/transparent_hugepage/enabled").trim(),
        User::current().title(),
    )
}
