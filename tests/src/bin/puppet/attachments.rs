//! Commands of an observer. They check every version page by page.

use crate::answer::{Answer, failed};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd;
use std::time::Duration;
use tcasm_observer::{Observer, Version, View};
use tcasm_tests::pattern::{self, Pattern};
use tcasm_tests::procfs;

/// A time that is far longer than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An observer, and the versions and views that it holds.
pub struct Attachment {
    observer: Observer,
    versions: Vec<Version>,
    views: Vec<View>,
}

/// Obeys the command if it is one of these.
pub fn obey(attachments: &mut Vec<Attachment>, verb: &str, arguments: &[&str]) -> Option<Answer> {
    let attached = match (verb, arguments) {
        ("attach", [name]) => Some(Observer::attach(name)),
        ("attach-wait", [name, ms]) => {
            let timeout = Duration::from_millis(ms.parse().unwrap_or(0));
            Some(Observer::attach_wait(name, timeout))
        }
        _ => None,
    };
    if let Some(attached) = attached {
        return Some(attached.map_err(failed).map(|observer| {
            attachments.push(Attachment {
                observer,
                versions: Vec::new(),
                views: Vec::new(),
            });
            String::new()
        }));
    }
    if verb == "writable-objects" {
        return Some(writable_objects());
    }
    let it = attachments.last_mut()?;
    Some(match (verb, arguments) {
        ("latest", []) => it
            .observer
            .latest()
            .map_err(failed)
            .and_then(|v| it.take(v)),
        ("newer", []) => it
            .observer
            .wait_newer(TIMEOUT)
            .map_err(failed)
            .and_then(|v| it.take(v)),
        ("view-at-base", []) => it.map(Version::view_at_base),
        ("view", []) => it.map(Version::view),
        ("check", []) => it.check_held(),
        ("release", []) => it.release(),
        ("available", []) => it
            .observer
            .available()
            .map_err(failed)
            .map(|v| format!("{v:?}")),
        ("status", []) => it
            .observer
            .status()
            .map_err(failed)
            .map(|s| format!("{s:?}")),
        ("subscribe", []) => it
            .observer
            .descriptor()
            .map_err(failed)
            .map(|_| String::new()),
        ("copy-budget", [bytes]) => {
            it.observer.set_copy_budget(bytes.parse().unwrap_or(0));
            Ok(String::new())
        }
        ("poll", [ms]) => it.poll(ms.parse().unwrap_or(0)),
        ("detach", []) => {
            attachments.pop();
            Ok(String::new())
        }
        _ => return None,
    })
}

impl Attachment {
    /// Checks a version without mapping it, and holds it.
    fn take(&mut self, version: Version) -> Answer {
        let field = version
            .field("a")
            .ok_or("NoField: the version has no field a")?;
        let mut words = vec![0u64; field.bytes() as usize / 8];
        let bytes = bytemuck::cast_slice_mut(&mut words);
        version.read_bytes("a", 0, bytes).map_err(failed)?;
        check(&version, &words)?;
        let text = format!("version={}", version.number());
        self.versions.push(version);
        Ok(text)
    }

    /// Maps the newest version held, checks it, and holds the view.
    fn map<E>(&mut self, map: impl FnOnce(&Version) -> Result<View, E>) -> Answer
    where
        E: std::fmt::Debug + std::fmt::Display,
    {
        let version = self.versions.last().ok_or("Nothing: no version is held")?;
        let view = map(version).map_err(failed)?;
        check_view(&view)?;
        let text = format!("address={}", view.address());
        self.views.push(view);
        Ok(text)
    }

    /// Checks everything that is held once more.
    fn check_held(&mut self) -> Answer {
        self.views.iter().try_for_each(check_view)?;
        let held = std::mem::take(&mut self.versions);
        let count = held.len();
        held.into_iter().try_for_each(|v| self.take(v).map(drop))?;
        Ok(format!("held={count}"))
    }

    fn release(&mut self) -> Answer {
        self.views.clear();
        self.versions.clear();
        Ok(String::new())
    }

    fn poll(&mut self, ms: u16) -> Answer {
        let descriptor = self.observer.descriptor().map_err(failed)?;
        let mut fds = [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut fds, PollTimeout::from(ms)).map_err(failed)?;
        Ok(if ready > 0 { "readable" } else { "quiet" }.into())
    }
}

fn check_view(view: &View) -> Result<(), String> {
    let words = view.array::<u64>("a").map_err(failed)?;
    check(
        view.version(),
        words.as_slice().ok_or("Layout: a vector is contiguous")?,
    )
}

fn check(version: &Version, words: &[u64]) -> Result<(), String> {
    let pattern = Pattern::of(version.table(), "a").ok_or("NoPattern: it has no pattern")?;
    let pages = words.len() / pattern::words_per_page();
    let last = pattern.last_writers(version.number(), pages);
    pattern::check_all(words, 0, &last).map_err(failed)
}

/// Returns how many of the objects that came from the producer can be opened for writing.
fn writable_objects() -> Answer {
    let ours = procfs::descriptors(std::process::id() as i32);
    let shared: Vec<_> = ours
        .into_iter()
        .filter(|(_, name)| name.contains("/memfd:tcasm-") && name.contains("-plane"))
        .collect();
    let open = |path| std::fs::OpenOptions::new().write(true).open(path);
    let writable = shared.iter().filter(|(path, _)| open(path).is_ok()).count();
    Ok(format!("objects={} writable={writable}", shared.len()))
}
