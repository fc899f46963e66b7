//! `tcasm doctor`: reports what this machine supports, which tracker is chosen and why, and how to
//! improve it.

mod device;
mod hostbuffer;
mod limits;
mod nodes;
mod registrars;
mod runtime;
mod transfers;

use crate::args::Format;
use crate::failure::{Code, Failure};
use crate::output::{self, Table};
use device::Device;
use hostbuffer::HostBuffers;
use limits::Limits;
use nodes::Nodes;
use registrars::Registrars;
use runtime::RuntimeDir;
use serde::Serialize;
use tcasm_core::track::{Grant, Probe, TrackerKind, Verdict, probe};
use transfers::Transfers;

/// The output.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    probe: Probe,
    /// True if fields can be copied after `publish`.
    deferred_capture: bool,
    userfaultfd_device: Device,
    limits: Limits,
    memory_nodes: Nodes,
    /// The registrars that can register memory for devices.
    registrars: Registrars,
    runtime_dir: RuntimeDir,
    transfers: Transfers,
    host_buffers: HostBuffers,
    /// Changes to this machine that would help.
    advice: Vec<String>,
}

pub fn run(format: Format) -> Result<(), Failure> {
    let (probe, limits, runtime_dir) = (probe(), Limits::read(), RuntimeDir::check());
    let (device, memory_nodes) = (Device::check(), Nodes::check());
    let transfers = Transfers::check();
    let host_buffers = HostBuffers::check();
    let advice = [
        advice(&probe, &device),
        limits.advice(),
        memory_nodes.advice(),
        runtime_dir.advice(),
        transfers.advice(),
        host_buffers.advice(),
    ]
    .concat();
    let report = Report {
        deferred_capture: deferred(&probe).is_ok(),
        probe,
        userfaultfd_device: device,
        limits,
        memory_nodes,
        registrars: Registrars::check(),
        runtime_dir,
        transfers,
        host_buffers,
        advice,
    };
    if format.json {
        output::json(&report)?;
    } else {
        output::text(&text(&report))?;
    }
    outcome(&report)
}

/// Returns an error if no region can be created on this machine.
fn outcome(report: &Report) -> Result<(), Failure> {
    match (&report.probe.choice.tracker, &report.runtime_dir.problem) {
        (None, _) => Err(Failure::new(Code::Other, report.probe.choice.why.clone())),
        (_, Some(problem)) => Err(Failure::new(
            Code::Io,
            format!(
                "no region can be created here: {problem}; \
                 set TCASM_RUNTIME_DIR to a folder that you own"
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns what prevents the trackers that are better than the chosen one, and deferred capture.
fn advice(probe: &Probe, device: &Device) -> Vec<String> {
    let mut advice = Vec::new();
    for kind in TrackerKind::ALL {
        if Some(kind) == probe.choice.tracker {
            break;
        }
        if let Some(reason) = probe.verdict(kind).reason() {
            advice.push(format!("for tracker {kind}: {reason}"));
        }
    }
    advice.extend(advice_for_deferral(probe));
    if probe.kernel_faults.reason().is_some() {
        advice.extend(device.advice(&device::user()));
    }
    if let Some(reason) = probe.huge_pages.reason() {
        advice.push(format!("for huge pages in fields: {reason}"));
    }
    advice
}

/// Returns what prevents deferred capture, and what a program can promise instead.
fn advice_for_deferral(probe: &Probe) -> Option<String> {
    let reason = probe.kernel_faults.reason()?;
    let promise = "; or, in user mode only: the program promises that no system call writes into \
                   its fields during a capture (Builder::no_kernel_writes)";
    Some(match probe.user_faults.reason() {
        None => format!("for deferred capture: {reason}{promise}"),
        Some(_) => format!("for deferred capture: {reason}"),
    })
}

/// Returns what makes deferred capture possible, or else what it lacks. It needs the best tracker
/// as well as the right to handle faults from inside system calls.
fn deferred(probe: &Probe) -> Result<&'static str, &'static str> {
    if probe.choice.tracker != Some(TrackerKind::UffdAsync) {
        return Err("does not work here: it needs the tracker uffd-async");
    }
    match probe.kernel_faults_by {
        None => Err(verdict(&probe.kernel_faults)),
        Some(Grant::Root) => Ok("works: this process is root"),
        Some(Grant::Capability) => Ok("works: this process has CAP_SYS_PTRACE"),
        Some(Grant::Sysctl) => Ok("works: vm.unprivileged_userfaultfd is 1"),
        Some(Grant::Device) => Ok("works: this process can open /dev/userfaultfd"),
    }
}

fn text(report: &Report) -> String {
    let probe = &report.probe;
    let chosen = probe.choice.tracker.map_or("none", TrackerKind::name);
    let mut out = format!(
        "writes are tracked by: {chosen}\n  ({})\n\n",
        probe.choice.why
    );
    out += "trackers of writes, the best first\n";
    let mut table = Table::indented(2);
    for kind in TrackerKind::ALL {
        table.row([kind.name(), verdict(probe.verdict(kind))]);
    }
    let (Ok(deferred) | Err(deferred)) = deferred(probe);
    table.row(["deferred capture", deferred]);
    table.row([
        "deferred capture, user mode only",
        verdict(&probe.user_faults),
    ]);
    table.row(["huge pages", verdict(&probe.huge_pages)]);
    out += &table.render();
    out += "\nregistering memory for devices\n";
    let mut table = Table::indented(2);
    for (name, state) in report.registrars.lines() {
        table.row([name.to_owned(), state]);
    }
    out += &table.render();
    out += "\nmachine\n";
    out += &machine(report).render();
    if !report.advice.is_empty() {
        out += "\nhow to improve this\n";
        for line in &report.advice {
            out += &format!("  - {line}\n");
        }
    }
    out
}

fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Usable => "works",
        Verdict::Risky(_) => "works, but is not safe: see below",
        Verdict::Unusable(_) => "does not work here: see below",
    }
}

fn machine(report: &Report) -> Table {
    let (probe, limits) = (&report.probe, &report.limits);
    let mut table = Table::indented(2);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("kernel", format!("Linux {}", probe.kernel));
    row("page size", output::bytes(probe.page_size as u64));
    row("user", probe.uid.to_string());
    row("mappings per process", probe.max_map_count.to_string());
    let sysctl = probe.unprivileged_userfaultfd;
    row(
        "unprivileged userfaultfd",
        sysctl.map_or("unknown".to_owned(), |n| n.to_string()),
    );
    row("/dev/userfaultfd", report.userfaultfd_device.text());
    row("open files", shown(limits.open_files, |n| n.to_string()));
    row("address space", shown(limits.address_space, output::bytes));
    row("locked memory", shown(limits.locked_memory, output::bytes));
    row("memory", limits.memory_text());
    row("nodes of memory", report.memory_nodes.text());
    row("huge pages", shown(limits.huge_pages.clone(), |s| s));
    row(
        "huge pages, shared memory",
        shown(limits.huge_pages_shared.clone(), |s| s),
    );
    let reserved = limits.reserved_pages;
    row(
        "reserved huge pages",
        reserved.map_or("none".to_owned(), |pages| pages.to_string()),
    );
    row("runtime folder", report.runtime_dir.text());
    row("transfers", report.transfers.text().to_owned());
    for (name, value) in report.host_buffers.rows() {
        row(name, value);
    }
    table
}

fn shown<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "unknown or unlimited".to_owned(), show)
}
