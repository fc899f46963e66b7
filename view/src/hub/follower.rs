//! The thread of a hub. It follows the region from run to run, and answers clients.

use super::clients::Job;
use super::common::Common;
use super::options::Options;
use super::pass::Pass;
use super::series::{Key, SeriesCache};
use crate::frame::Frame;
use crate::mesh::{self, Cache};
use crate::region::{Region, State, Watch};
use crate::request::ViewRequest;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tcasm_observer::{ObserveError, Observer, RegionInfo, Version};

/// Delay before the next attempt, when no region was found or a version could not be read.
const RETRY: Duration = Duration::from_millis(200);
/// Delay before attaching again after the producer revoked the lease.
const REATTACH: Duration = Duration::from_secs(3);

/// The state of the hub's thread.
pub struct Follower {
    common: Weak<Common>,
    name: String,
    options: Options,
    observer: Option<Observer>,
    watch: Watch,
    memory: SeriesCache,
    meshes: Arc<Mutex<Cache>>,
    state: State,
    /// The version of the last pass over whole fields.
    whole: Option<u64>,
    due: Due,
}

/// The earliest time of the next step of each kind.
struct Due {
    attach: Instant,
    region: Instant,
    frame: Instant,
    whole: Instant,
}

impl Follower {
    pub fn new(common: Weak<Common>, name: &str, options: Options) -> Self {
        let now = Instant::now();
        Follower {
            common,
            name: name.to_owned(),
            options,
            observer: None,
            watch: Watch::default(),
            memory: SeriesCache::default(),
            meshes: Arc::default(),
            state: State::Waiting,
            whole: None,
            due: Due {
                attach: now,
                region: now,
                frame: now,
                whole: now,
            },
        }
    }

    /// Serves clients until the hub and all clients are dropped.
    pub fn run(mut self) {
        tcasm_core::sys::thread::set_background();
        while let Some(common) = self.common.upgrade() {
            if common.clients.count() > 0 {
                self.attach(&common);
                self.poll_region(&common);
                self.answer(&common);
            }
            self.sleep(&common);
        }
    }

    /// Attaches if there is no running producer yet: for the first time, to a new run after the
    /// last one has ended, or to the same run after it revoked the lease.
    fn attach(&mut self, common: &Common) {
        if self.state == State::Running || Instant::now() < self.due.attach {
            return;
        }
        self.due.attach = Instant::now() + RETRY;
        match Observer::attach(&self.name) {
            Ok(observer) if self.is_new(&observer) => {
                self.watch = Watch::default();
                self.memory.clear();
                self.meshes = Arc::default();
                common.clients.start_again();
                self.begin(observer);
            }
            // This is the same run, which had revoked the lease. What is known of it stays valid.
            Ok(observer) if self.state == State::Revoked => self.begin(observer),
            Ok(_) => {}
            Err(error) if self.observer.is_none() => {
                common
                    .clients
                    .set_region(Region::waiting(&self.name, error.to_string()));
            }
            Err(error) if self.state == State::Revoked => tell_revoked(common, error.to_string()),
            Err(_) => {}
        }
    }

    /// Returns true if `found` is attached to another run than the last observer was.
    fn is_new(&self, found: &Observer) -> bool {
        let run = |observer: &Observer| -> Option<(u64, u64)> {
            let info: RegionInfo = observer.info().ok()?;
            Some((info.created, info.pid))
        };
        self.observer
            .as_ref()
            .is_none_or(|old| run(old) != run(found))
    }

    fn begin(&mut self, observer: Observer) {
        self.observer = Some(observer);
        self.whole = None;
        self.due.region = Instant::now();
        self.state = State::Running;
    }

    /// Reads the state of the region and sends it to clients.
    fn poll_region(&mut self, common: &Common) {
        if Instant::now() < self.due.region {
            return;
        }
        self.due.region = Instant::now() + self.options.region;
        let observer = match &mut self.observer {
            Some(observer) if self.state != State::Revoked => observer,
            _ => return,
        };
        match self.watch.poll(observer) {
            Ok(region) if region.state != State::Revoked => {
                self.state = region.state;
                common.clients.set_region(region);
            }
            Ok(_) => self.revoked(common, &ObserveError::Revoked),
            Err(error) => self.revoked(common, &error),
        }
    }

    /// Handles a lease that was revoked, or a region that cannot be read. The thread attaches again
    /// after a delay.
    fn revoked(&mut self, common: &Common, why: &ObserveError) {
        tracing::warn!("cannot read the region {:?}: {why}", self.name);
        self.state = State::Revoked;
        self.due.attach = Instant::now() + REATTACH;
        let seconds = REATTACH.as_secs();
        let message = format!("{why}; the server attaches again in {seconds} seconds");
        tell_revoked(common, message);
    }

    /// Does the jobs of all clients that are due.
    fn answer(&mut self, common: &Common) {
        let (now, Some(newest)) = (Instant::now(), self.newest()) else {
            return;
        };
        let mut jobs = common.clients.jobs(newest);
        let whole = now >= self.due.whole && self.whole != Some(newest);
        for job in &mut jobs {
            job.behind &= now >= self.due.frame;
            job.whole |= whole && job.is_live();
        }
        let live: Vec<Job> = jobs.iter().filter(|job| job.is_live()).cloned().collect();
        let is_due = |job: &Job| job.fresh || job.behind || job.whole;
        if live.iter().any(is_due) && self.answer_live(common, &live, whole).is_none() {
            // Do not try again immediately: the reason may last.
            (self.due.frame, self.due.whole) = (now + RETRY, now + RETRY);
        }
        for job in jobs.iter().filter(|job| job.fresh && !job.is_live()) {
            self.answer_one(common, job);
        }
    }

    /// Returns the number of the newest version that can be read.
    fn newest(&mut self) -> Option<u64> {
        if self.state == State::Revoked {
            return None;
        }
        let observer = self.observer.as_mut()?;
        observer.acknowledge();
        observer.available().ok()?.last().copied()
    }

    /// Answers the requests for the newest version: first the small parts, then the parts that read
    /// whole fields. Returns `None` if there is no version that can be read.
    ///
    /// `jobs` are those of all clients that follow the newest version, also if nothing is due. All
    /// their fields are mapped each time. So the next pass takes over the same window, and changes
    /// only what differs.
    fn answer_live(&mut self, common: &Common, jobs: &[Job], whole: bool) -> Option<()> {
        let begin = Instant::now();
        let version = self.pin(None).ok()?;
        let mut pass = self.pass(&version, jobs.iter().map(|job| &*job.request))?;
        for job in jobs.iter().filter(|job| job.fresh || job.behind) {
            self.give_part(common, job, &mut pass);
        }
        if jobs.iter().any(|job| job.behind) {
            self.due.frame = later(begin, self.options.frame, self.options.pause);
        }
        let begin = Instant::now();
        for job in jobs.iter().filter(|job| job.whole) {
            self.give_whole(common, job, &mut pass);
        }
        if whole {
            self.whole = Some(version.number());
            self.due.whole = later(begin, self.options.whole, self.options.pause);
        }
        Some(())
    }

    /// Answers a request for a version that it names.
    fn answer_one(&mut self, common: &Common, job: &Job) {
        let version = job.request.version;
        let seen = match self.pin(version) {
            Ok(version) => self
                .pass(&version, [&*job.request])
                .ok_or_else(|| "the version cannot be mapped".to_owned()),
            Err(error) => Err(error),
        };
        match seen {
            Ok(mut pass) => {
                self.give_part(common, job, &mut pass);
                if job.whole {
                    self.give_whole(common, job, &mut pass);
                }
            }
            Err(error) => {
                let frame = Frame {
                    request: job.request.clone(),
                    error: Some(error),
                    ..Frame::default()
                };
                common.clients.give(job.client, frame, None);
            }
        }
    }

    /// Adds the image of the version that the request compares with, unless the frame has no data.
    fn compare(&mut self, job: &Job, frame: &mut Frame) {
        let has_data = frame.error.is_none() && !frame.is_empty();
        if !has_data || job.request.compare.is_none() {
            return;
        }
        let other = self.pin(job.request.compare).and_then(|version| {
            let field = ViewRequest {
                also: Vec::new(),
                ..ViewRequest::clone(&job.request)
            };
            let mut pass = self
                .pass(&version, [&field])
                .ok_or("the version cannot be mapped")?;
            pass.other(&job.request)
        });
        frame.compare = Some(other);
    }

    /// Computes the small parts of a request and gives them to the client.
    fn give_part(&mut self, common: &Common, job: &Job, pass: &mut Pass) {
        let mut frame = pass.part(&job.request);
        self.compare(job, &mut frame);
        // Take the series before the moments of this version are added to it: the client gets those
        // with its frames.
        let series = self
            .memory
            .get(&key(job))
            .filter(|_| job.whole && job.fresh);
        common.clients.give(job.client, frame, series);
    }

    /// Computes the parts of a request that read whole fields, and gives them to the client.
    fn give_whole(&mut self, common: &Common, job: &Job, pass: &mut Pass) {
        // A client that got an error gets no data. (The pass has the parts: it does not compute
        // them again.)
        if pass.part(&job.request).error.is_some() {
            return;
        }
        let frame = pass.whole(&job.request);
        if let Some((stamp, moments)) = &frame.moments
            && job.is_live()
        {
            self.memory.note(&key(job), stamp, moments);
        }
        for (name, (stamp, moments)) in &frame.also {
            self.memory.note(&(name.clone(), None), stamp, moments);
        }
        common.clients.add(job.client, frame);
    }

    /// Maps the fields that requests need. Names that the version lacks are left out: the pass
    /// reports them to those who ask for them.
    fn pass<'r>(
        &self,
        version: &Version,
        requests: impl IntoIterator<Item = &'r ViewRequest>,
    ) -> Option<Pass> {
        let names: BTreeSet<&str> = requests
            .into_iter()
            .flat_map(|request| needed(version, request))
            .filter(|name| version.field(name).is_some_and(|field| field.bytes() > 0))
            .collect();
        let view = version.view_of(&Vec::from_iter(names));
        let warn = |error: &_| tracing::warn!("cannot map version {}: {error}", version.number());
        let view = view.inspect_err(warn).ok()?;
        Some(Pass::new(view, self.meshes.clone()))
    }

    /// Pins version `number`, or the newest one.
    fn pin(&mut self, number: Option<u64>) -> Result<Version, String> {
        let observer = self.observer.as_mut().ok_or("no such region")?;
        let version = match number {
            Some(number) => observer.version(number),
            None => observer.latest(),
        };
        version.map_err(|error| error.to_string())
    }

    /// Sleeps until there may be something to do.
    fn sleep(&mut self, common: &Arc<Common>) {
        if common.clients.count() == 0 {
            return common.clients.wait(None, Some(Duration::from_secs(1)));
        }
        let newest = self.newest();
        let mut next = match &self.observer {
            Some(_) => self.due.region,
            None => self.due.attach,
        };
        let behind = newest.is_some_and(|newest| common.clients.someone_is_behind(newest));
        if behind {
            next = next.min(self.due.frame);
        }
        let live = common.clients.someone_is_live();
        if live && newest.is_some() && newest != self.whole {
            next = next.min(self.due.whole);
        }
        let left = next.saturating_duration_since(Instant::now());
        // Watch for a new version only if a client has the newest one already and waits for the
        // next.
        let waits = !behind && common.clients.someone_is_ready();
        let watched = match &mut self.observer {
            Some(observer) if waits && self.state == State::Running => observer.descriptor().ok(),
            _ => None,
        };
        common.clients.wait(watched, Some(left));
    }
}

/// Tells clients that the region cannot be read, and why. The rest of its state stays as it was.
fn tell_revoked(common: &Common, message: String) {
    let last = common.clients.last_region().unwrap_or_default();
    common.clients.set_region(Region {
        state: State::Revoked,
        message,
        ..Region::clone(&last)
    });
}

fn key(job: &Job) -> Key {
    (job.request.field.clone(), job.request.component)
}

/// Returns the names of the fields that a request needs: those whose values it wants, and those
/// that say where the values are.
fn needed<'n>(version: &'n Version, request: &'n ViewRequest) -> Vec<&'n str> {
    let placed = request.slice.is_some() || request.line.is_some() || request.scene.is_some();
    let table = version.table();
    let mut names: Vec<&str> = request.fields().collect();
    for name in request.fields().filter(|name| mesh::is_whole(name)) {
        names.extend(mesh::members_of(table, name));
    }
    if placed {
        names.extend(mesh::geometry_of(table, &request.field));
    }
    names
}

/// Returns the earliest time of the next step, after one that began at `begin` and ends now. It is
/// at least `least` after `begin`, and at least `pause` times the duration of that step from now.
fn later(begin: Instant, least: Duration, pause: u32) -> Instant {
    let took = begin.elapsed();
    (begin + least).max(Instant::now() + took * pause)
}
