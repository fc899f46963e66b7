//! The time that an observer needs to switch to the next version, on an idle machine and beside a
//! load. Where a few pages differ, it is compared with mapping each of them.

use super::bar::{Bar, Unit};
use super::spinner::Spinner;
use crate::reference::PageByPage;
use crate::samples::Samples;
use crate::workload::{BYTES, PAGE, Simulation};
use tcasm_observer::Observer;

/// Number of versions that the observer switches to. One time in a hundred is beyond the 99th
/// percentile.
const ROUNDS: usize = 200;
/// Number of versions before them. After them, the policy knows the pattern, and the pages of a
/// version are scattered.
const WARM_UP: usize = 60;
/// The share of pages that a step writes which writes few of them, in per cent.
const FEW: usize = 1;
/// The longest time for each page that differs, on an idle machine, in microseconds.
const EACH_PAGE_US: f64 = 4.0;

/// Measures versions of which all pages differ, and versions of which a few do.
pub fn measure() -> Vec<Bar> {
    let mut bars = switch_bars(100, &switches(100));
    let few = switches(FEW);
    bars.extend(switch_bars(FEW, &few));
    bars.extend(rival_bars(&few));
    bars
}

/// Measures on an idle machine, then beside a load.
fn idle_and_loaded<T>(mut measure: impl FnMut() -> T) -> [T; 2] {
    let idle = measure();
    let load = Spinner::on_all_processors();
    let loaded = measure();
    drop(load);
    [idle, loaded]
}

/// Returns the names of a value on an idle machine, and beside a load.
fn names(what: &str) -> [String; 2] {
    let loaded = format!("{what}, beside a thread on each processor that computes");
    [what.to_owned(), loaded]
}

fn switches(percent: usize) -> [Samples; 2] {
    let mut switching = Switching::new(percent);
    switching.rounds(WARM_UP);
    idle_and_loaded(|| switching.rounds(ROUNDS))
}

fn what(percent: usize) -> String {
    format!("switch to the next version, 512 MiB, {percent} % of the pages differ")
}

fn switch_bars(percent: usize, times: &[Samples; 2]) -> Vec<Bar> {
    let names = names(&what(percent)).into_iter().zip(times);
    names
        .map(|(name, times)| Bar::limit(&name, times))
        .collect()
}

/// The times of mapping and of copying the pages that differ, one by one.
#[derive(Default)]
struct Rival {
    map: Samples,
    copy: Samples,
}

impl Rival {
    /// Measures with a view whose pages are scattered over two planes already.
    fn rounds(pages: &mut PageByPage, rounds: usize) -> Self {
        let mut rival = Rival::default();
        for _ in 0..rounds {
            let drawn = pages.draw(FEW);
            rival.map.time(|| pages.map(&drawn));
            rival.copy.time(|| pages.copy(&drawn));
        }
        rival
    }
}

/// Compares switches with a program that does nothing but map, or copy, as many pages.
fn rival_bars(switches: &[Samples; 2]) -> Vec<Bar> {
    let mut pages = PageByPage::new(BYTES);
    Rival::rounds(&mut pages, WARM_UP);
    let rivals = idle_and_loaded(|| Rival::rounds(&mut pages, ROUNDS));
    let count = (BYTES / PAGE * FEW / 100) as f64;
    let each = switches[0].median() / 1e3 / count;
    let name = format!("{}: for each of these pages", what(FEW));
    let mut bars = vec![Bar::new(&name, each, EACH_PAGE_US, Unit::Us)];
    for ((name, switch), rival) in names(&what(FEW)).iter().zip(switches).zip(&rivals) {
        bars.extend(rival.bars(name, switch, count));
    }
    bars
}

impl Rival {
    fn bars(&self, name: &str, switch: &Samples, count: f64) -> Vec<Bar> {
        let of = |what: &str| format!("{name}: {what}");
        let each = |times: &Samples| times.median() / 1e3 / count;
        let at = |q| switch.quantile(q) / self.map.quantile(q);
        let ratio = |what: &str, seen: f64| Bar::new(&of(what), seen, 1.0, Unit::Ratio);
        let (map, copy) = (each(&self.map), each(&self.copy));
        vec![
            Bar::limit(&of("its rival: mmap of each of these pages"), &self.map),
            ratio("in times of the rival", at(0.5)),
            ratio("in times of the rival, p99 of both", at(0.99)),
            Bar::limit(&of("copying each of these pages"), &self.copy),
            Bar::figure(&of("mmap of one page"), map, Unit::Us),
            Bar::figure(&of("copying one page"), copy, Unit::Us),
            ratio("copying one page, in mmaps of one page", copy / map),
        ]
    }
}

/// A simulation and an observer of it.
struct Switching {
    simulation: Simulation,
    observer: Observer,
    percent: usize,
}

impl Switching {
    fn new(percent: usize) -> Self {
        let name = format!("bars-switch-{percent}-{}", std::process::id());
        let simulation = Simulation::new(&name, BYTES);
        let observer = Observer::attach(&name).expect("an observer");
        Switching {
            simulation,
            observer,
            percent,
        }
    }

    /// Publishes versions. Returns the times in which the observer pins and maps each of them, and
    /// lets go of it. Nothing else is in progress meanwhile.
    fn rounds(&mut self, rounds: usize) -> Samples {
        let mut times = Samples::default();
        for _ in 0..rounds {
            self.simulation.compute(self.percent);
            self.simulation.publish();
            self.simulation.settle();
            let step = times.time(|| {
                let version = self.observer.latest().expect("a version");
                let view = version.view().expect("a view");
                view.step()
            });
            assert_eq!(step, self.simulation.step);
        }
        times
    }
}
