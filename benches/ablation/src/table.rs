//! The tables, as Markdown.

use crate::change::{Changes, Value, median};
use crate::measure::Measured;
use crate::rounds::{Plan, Row};
use crate::variant::Variant;
use std::fmt::Write as _;
use std::time::Duration;

/// The values of the first table.
const STEP_AND_HELD: [Value; 2] = [Measured::step, |m| m.held_bytes_p50];
/// The values of the second table.
const OTHERS: [Value; 4] = [
    Measured::step_p99,
    |m| m.publish_us_p50,
    |m| m.visible_ms_p50.unwrap_or(f64::NAN),
    |m| m.held_bytes_end as f64,
];

/// The values of the third table.
const FIRST_VIEW: [Value; 2] = [|m| m.mappings as f64, |m| m.first_view_ms];

/// Returns all tables. `each` is the time of a run.
pub fn page(plan: &Plan, rows: &[Row], each: Duration) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(
        out,
        "Buffers of {} MiB, {} rounds, {:.1} s for each run.\n",
        plan.bytes >> 20,
        plan.rounds,
        each.as_secs_f64(),
    )?;
    writeln!(out, "### Step time / held memory: change in per cent\n")?;
    changes(&mut out, plan, rows, &STEP_AND_HELD)?;
    writeln!(
        out,
        "\n### 99th percentile of the step / publish / visible / held by all processes at the \
         end: change in per cent\n"
    )?;
    changes(&mut out, plan, rows, &OTHERS)?;
    writeln!(
        out,
        "\n### Mappings of the last version / time of a first view of it: change in per cent\n"
    )?;
    changes(&mut out, plan, rows, &FIRST_VIEW)?;
    writeln!(out, "\n### Nothing left out\n")?;
    absolute(&mut out, plan, rows)?;
    Ok(out)
}

/// Writes a table with a row for each variant and a column for each workload.
fn changes(out: &mut String, plan: &Plan, rows: &[Row], values: &[Value]) -> std::fmt::Result {
    let names: Vec<_> = plan.workloads.iter().map(|w| w.name).collect();
    writeln!(out, "| left out | {} |", names.join(" | "))?;
    writeln!(out, "|---{}|", "|---".repeat(names.len()))?;
    let mut variants = plan.variants.clone();
    variants.retain(|variant| *variant != Variant::Everything);
    // Nothing comes first, because all others are compared with it.
    variants.sort_by_key(|variant| *variant != Variant::Nothing);
    for variant in variants {
        let cells = names.iter().map(|name| cell(rows, name, variant, values));
        let cells: Vec<_> = cells.collect();
        writeln!(out, "| {} | {} |", variant.name(), cells.join(" | "))?;
    }
    Ok(())
}

/// Returns the changes of all values of a variant in one workload. Gains are bold.
fn cell(rows: &[Row], workload: &str, variant: Variant, values: &[Value]) -> String {
    let one = |value: &Value| {
        let noise = Changes::of(rows, workload, Variant::Nothing, *value);
        let changes = Changes::of(rows, workload, variant, *value);
        let Some(median) = changes.median() else {
            return "-".to_owned();
        };
        // Adding zero removes the sign of a negative zero.
        let text = format!("{:+.0}", median.round() + 0.0);
        match changes.is_gain(&noise) {
            true => format!("**{text}**"),
            false => text,
        }
    };
    let cells: Vec<_> = values.iter().map(one).collect();
    cells.join(" / ")
}

/// Writes the values of the runs that left out nothing, with a row for each workload.
fn absolute(out: &mut String, plan: &Plan, rows: &[Row]) -> std::fmt::Result {
    writeln!(
        out,
        "| workload | bare step | step | p99 | publish | p99 | max | visible | held MiB \
         | at the end | mappings | first view | steps | |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )?;
    for workload in &plan.workloads {
        let is = |r: &&Row| r.workload == workload.name && r.variant == Variant::Everything.name();
        let runs: Vec<_> = rows.iter().filter(is).map(|r| &r.measured).collect();
        writeln!(out, "{}", absolute_line(workload.name, &runs))?;
    }
    Ok(())
}

fn absolute_line(name: &str, runs: &[&Measured]) -> String {
    let of = |value: Value| {
        let values: Vec<_> = runs.iter().copied().map(value).collect();
        median(&values).unwrap_or(f64::NAN)
    };
    let us = |value: Value| format!("{:.0} us", of(value));
    let mib = |value: Value| format!("{:.0}", of(value) / f64::from(1 << 20));
    let wrong = runs.iter().any(|run| !run.correct);
    let skipped: u64 = runs.iter().map(|run| run.skipped).sum();
    let cells = [
        name.to_owned(),
        format!("{:.2} ms", of(|m| m.bare_ms_p50)),
        format!("{:.2} x", of(Measured::step)),
        format!("{:.2} x", of(Measured::step_p99)),
        us(|m| m.publish_us_p50),
        us(|m| m.publish_us_p99),
        us(|m| m.publish_us_max),
        format!("{:.2} ms", of(|m| m.visible_ms_p50.unwrap_or(f64::NAN))),
        mib(|m| m.held_bytes_p50),
        mib(|m| m.held_bytes_end as f64),
        format!("{:.0}", of(|m| m.mappings as f64)),
        format!("{:.2} ms", of(|m| m.first_view_ms)),
        format!("{:.0}", of(|m| m.steps as f64)),
        remarks(wrong, skipped),
    ];
    format!("| {} |", cells.join(" | "))
}

fn remarks(wrong: bool, skipped: u64) -> String {
    match (wrong, skipped) {
        (true, _) => "**wrong**".to_owned(),
        (_, 0) => String::new(),
        (_, n) => format!("{n} skipped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;
    use tcasm_core::testing::ablation::Mechanism;

    #[test]
    fn tables_have_a_row_for_each_variant_and_mark_gains() {
        let plan = Plan {
            workloads: vec![workload::ALL[1]],
            variants: Variant::of_round(&[Mechanism::Sharing]),
            rounds: 1,
            bytes: 64 << 20,
            time: Duration::from_secs(60),
        };
        let row = |variant: &Variant, step: f64, held: f64| Row {
            workload: workload::ALL[1].name,
            variant: variant.name(),
            round: 0,
            measured: Measured {
                bare_ms_p50: 10.0,
                step_ms_p50: step,
                held_bytes_p50: held,
                ..Measured::default()
            },
        };
        let values = [(20.0, 100.0), (19.96, 200.0), (20.2, 101.0)];
        let rows = plan.variants.iter().zip(values);
        let rows: Vec<_> = rows.map(|(v, (step, held))| row(v, step, held)).collect();
        let page = page(&plan, &rows, Duration::from_secs(2)).unwrap();
        assert!(page.contains("| left out | random-10 |"), "{page}");
        assert!(page.contains("| nothing | +1 / +1 |"), "{page}");
        assert!(page.contains("| sharing | +0 / **+100** |"), "{page}");
        assert!(page.contains("| random-10 | 10.00 ms | 2.00 x |"), "{page}");
    }
}
