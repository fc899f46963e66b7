//! The thread of a hub: follows the region from run to run, and answers clients.

use super::pass::Pass;
use super::seats::Wish;
use super::series::{Key, Memory};
use super::{Common, Options};
use crate::frame::Frame;
use crate::region::{Region, State, Watch};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tcasm_observer::{ObserveError, Observer, RegionInfo, Version};

/// How often a region that is not there is looked for.
const RETRY: Duration = Duration::from_millis(200);
/// A producer that has taken the lease away is left in peace for so long.
const PEACE: Duration = Duration::from_secs(3);

pub struct Follower {
    common: Weak<Common>,
    name: String,
    options: Options,
    observer: Option<Observer>,
    watch: Watch,
    memory: Memory,
    state: State,
    /// The version of the last look at whole fields.
    whole: Option<u64>,
    due: Due,
}

/// When what may be done next.
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
            memory: Memory::default(),
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

    /// Until hub and clients are gone.
    pub fn run(mut self) {
        tcasm_core::sys::thread::set_background();
        while let Some(common) = self.common.upgrade() {
            if common.seats.count() > 0 {
                self.attach(&common);
                self.look(&common);
                self.answer(&common);
            }
            self.sleep(&common);
        }
    }

    /// Attach, where nothing is attached or the run that is has ended and there is a new one.
    fn attach(&mut self, common: &Common) {
        if self.state == State::Running || Instant::now() < self.due.attach {
            return;
        }
        self.due.attach = Instant::now() + RETRY;
        match Observer::attach(&self.name) {
            Ok(observer) if self.is_new(&observer) => {
                self.watch = Watch::default();
                self.memory.clear();
                common.seats.start_again();
                self.begin(observer);
            }
            // The same run, which had taken the lease away: what is known of it stays.
            Ok(observer) if self.state == State::Ousted => self.begin(observer),
            Ok(_) => {}
            Err(error) if self.observer.is_none() => {
                common
                    .seats
                    .tell(Region::waiting(&self.name, error.to_string()));
            }
            Err(error) if self.state == State::Ousted => tell_ousted(common, error.to_string()),
            Err(_) => {}
        }
    }

    /// Whether it is another run than that which has ended.
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

    /// Look at the region, and tell what is seen.
    fn look(&mut self, common: &Common) {
        if Instant::now() < self.due.region {
            return;
        }
        self.due.region = Instant::now() + self.options.region;
        let observer = match &mut self.observer {
            Some(observer) if self.state != State::Ousted => observer,
            _ => return,
        };
        match self.watch.look(observer) {
            Ok(region) if region.state != State::Ousted => {
                self.state = region.state;
                common.seats.tell(region);
            }
            Ok(_) => self.ousted(common, &ObserveError::Ousted),
            Err(error) => self.ousted(common, &error),
        }
    }

    /// Nothing that was seen of the region holds any more. It is attached to again, but not at once.
    fn ousted(&mut self, common: &Common, why: &ObserveError) {
        tracing::warn!("region {:?} cannot be looked at: {why}", self.name);
        self.state = State::Ousted;
        self.due.attach = Instant::now() + PEACE;
        let message = format!("{why}; it is tried again in {} seconds", PEACE.as_secs());
        tell_ousted(common, message);
    }

    fn answer(&mut self, common: &Common) {
        let (now, Some(newest)) = (Instant::now(), self.newest()) else {
            return;
        };
        let mut wishes = common.seats.wishes(newest);
        let whole = now >= self.due.whole && self.whole != Some(newest);
        for wish in &mut wishes {
            wish.behind &= now >= self.due.frame;
            wish.whole |= whole && wish.is_live();
        }
        let live = |wish: &&Wish| wish.is_live() && (wish.fresh || wish.behind || wish.whole);
        let live: Vec<Wish> = wishes.iter().filter(live).cloned().collect();
        if !live.is_empty() && self.answer_live(common, &live, whole).is_none() {
            // Not at once again: what is in the way may stay.
            (self.due.frame, self.due.whole) = (now + RETRY, now + RETRY);
        }
        for wish in wishes.iter().filter(|wish| wish.fresh && !wish.is_live()) {
            self.answer_one(common, wish);
        }
    }

    /// The newest version that can be read.
    fn newest(&mut self) -> Option<u64> {
        if self.state == State::Ousted {
            return None;
        }
        let observer = self.observer.as_mut()?;
        observer.acknowledge();
        observer.available().ok()?.last().copied()
    }

    /// Answer those who want the newest version: first what is small, then what takes whole fields. None if there is no version.
    fn answer_live(&mut self, common: &Common, wishes: &[Wish], whole: bool) -> Option<()> {
        let begin = Instant::now();
        let version = self.pin(None).ok()?;
        let mut pass = pass(&version)?;
        for wish in wishes.iter().filter(|wish| wish.fresh || wish.behind) {
            self.give_part(common, wish, &mut pass);
        }
        if wishes.iter().any(|wish| wish.behind) {
            self.due.frame = later(begin, self.options.frame, self.options.pause);
        }
        let begin = Instant::now();
        for wish in wishes.iter().filter(|wish| wish.whole) {
            self.give_whole(common, wish, &mut pass);
        }
        if whole {
            self.whole = Some(version.number());
            self.due.whole = later(begin, self.options.whole, self.options.pause);
        }
        Some(())
    }

    /// Answer one who wants a version that it names.
    fn answer_one(&mut self, common: &Common, wish: &Wish) {
        let version = wish.look.version;
        let seen = match self.pin(version) {
            Ok(version) => pass(&version).ok_or_else(|| "the version cannot be mapped".to_owned()),
            Err(error) => Err(error),
        };
        match seen {
            Ok(mut pass) => {
                self.give_part(common, wish, &mut pass);
                if wish.whole {
                    self.give_whole(common, wish, &mut pass);
                }
            }
            Err(error) => {
                let frame = Frame {
                    look: wish.look.clone(),
                    error: Some(error),
                    ..Frame::default()
                };
                common.seats.give(wish.client, frame, None);
            }
        }
    }

    fn compare(&mut self, wish: &Wish, frame: &mut Frame) {
        if frame.error.is_some() || wish.look.compare.is_none() {
            return;
        }
        let other = self.pin(wish.look.compare).and_then(|version| {
            let mut pass = pass(&version).ok_or("the version cannot be mapped")?;
            let image = pass.other(&wish.look)?;
            pass.check().map_err(|e| e.to_string())?;
            Ok(image)
        });
        frame.compare = Some(other);
    }

    fn give_part(&mut self, common: &Common, wish: &Wish, pass: &mut Pass) {
        let mut frame = pass.part(&wish.look);
        self.compare(wish, &mut frame);
        // Before what the frame itself will add.
        let series = self
            .memory
            .get(&key(wish))
            .filter(|_| wish.whole && wish.fresh);
        if self.stood(common, pass) {
            common.seats.give(wish.client, frame, series);
        }
    }

    fn give_whole(&mut self, common: &Common, wish: &Wish, pass: &mut Pass) {
        // Who is told of an error sees nothing else. (What is looked at twice is made once.)
        if pass.part(&wish.look).error.is_some() {
            return;
        }
        let frame = pass.whole(&wish.look);
        if let Some((stamp, moments)) = &frame.moments
            && wish.is_live()
        {
            self.memory.note(&key(wish), stamp, moments);
        }
        for (name, (stamp, moments)) in &frame.also {
            self.memory.note(&(name.clone(), None), stamp, moments);
        }
        if self.stood(common, pass) {
            common.seats.add(wish.client, frame);
        }
    }

    /// Whether what was read was the version's.
    fn stood(&mut self, common: &Common, pass: &Pass) -> bool {
        let checked = pass.check();
        if let Err(error) = &checked {
            self.ousted(common, error);
        }
        checked.is_ok()
    }

    fn pin(&mut self, number: Option<u64>) -> Result<Version, String> {
        let observer = self.observer.as_mut().ok_or("no such region")?;
        let version = match number {
            Some(number) => observer.version(number),
            None => observer.latest(),
        };
        version.map_err(|error| error.to_string())
    }

    /// Sleep until there is something to do.
    fn sleep(&mut self, common: &Arc<Common>) {
        if common.seats.count() == 0 {
            return common.seats.wait(None, Some(Duration::from_secs(1)));
        }
        let newest = self.newest();
        let mut next = match &self.observer {
            Some(_) => self.due.region,
            None => self.due.attach,
        };
        let behind = newest.is_some_and(|newest| common.seats.someone_is_behind(newest));
        if behind {
            next = next.min(self.due.frame);
        }
        let live = common.seats.someone_is_live();
        if live && newest.is_some() && newest != self.whole {
            next = next.min(self.due.whole);
        }
        let left = next.saturating_duration_since(Instant::now());
        // A version that comes is of interest only where somebody has all of the one before, and waits.
        let waits = !behind && common.seats.someone_is_ready();
        let watched = match &mut self.observer {
            Some(observer) if waits && self.state == State::Running => observer.descriptor().ok(),
            _ => None,
        };
        common.seats.wait(watched, Some(left));
    }
}

/// Tell clients that nothing can be read, and why; what else is known of the region is as it was.
fn tell_ousted(common: &Common, message: String) {
    let last = common.seats.told().unwrap_or_default();
    common.seats.tell(Region {
        state: State::Ousted,
        message,
        ..Region::clone(&last)
    });
}

fn key(wish: &Wish) -> Key {
    (wish.look.field.clone(), wish.look.component)
}

fn pass(version: &Version) -> Option<Pass> {
    let view = version.view();
    let told = |error: &_| tracing::warn!("version {} cannot be mapped: {error}", version.number());
    view.inspect_err(told).ok().map(Pass::new)
}

/// When the next may begin, of what began at `begin` and is done.
fn later(begin: Instant, least: Duration, pause: u32) -> Instant {
    let took = begin.elapsed();
    (begin + least).max(Instant::now() + took * pause)
}
