//! Fields on meshes with millions of points: the time until a page receives a published version,
//! and its first frame.

use super::super::bar::{Bar, Unit};
use super::common::of_pages;
use super::load_bars;
use super::moving::{CELLS, Moving, PARTICLES, RATE};
use crate::outcome::Outcome;
use crate::pages::{Pages, Site, memory};
use crate::samples::Samples;
use serde_json::{Value, json};

/// Number of servers that are started to measure the first frame.
const SERVERS: usize = 5;
/// The largest memory that the simulation and the server together may have, in MiB.
const MOST: f64 = 6144.0;

/// Measures particles that move, and a surface whose values change.
pub fn measure() -> Vec<Bar> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let all = || -> Outcome<Vec<Bar>> { Ok([particles()?, cells()?].concat()) };
    one.expect("a thread").install(|| all().expect("measured"))
}

fn particles() -> Outcome<Vec<Bar>> {
    let name = format!("bars-particles-{}", std::process::id());
    let moving = Moving::particles(&name)?;
    let what = format!("{} million particles that move", PARTICLES / 1_000_000);
    seen(&name, moving, &what, &request("v", false))
}

fn cells() -> Outcome<Vec<Bar>> {
    let name = format!("bars-cells-{}", std::process::id());
    let moving = Moving::cells(&name)?;
    let what = format!("the surface of {} million hexahedra", CELLS / 1_000_000);
    seen(&name, moving, &what, &request("t", true))
}

/// Returns the request of a page that was just opened.
fn request(field: &str, surface: bool) -> Value {
    json!({
        "type": "view", "id": 1, "field": field, "histogram": 64, "pages": true,
        "scene": {"points": 100_000, "surface": surface},
    })
}

/// Measures one page that shows a simulation, after the first frames of others.
fn seen(name: &str, mut moving: Moving, what: &str, request: &Value) -> Outcome<Vec<Bar>> {
    let first = first_frames(name, request)?;
    let site = of_pages(Site::start(name))?;
    let open = of_pages(Pages::open(&site, 1, request))?;
    let busy = of_pages(site.busy())?;
    let took = moving.run()?;
    let busy = of_pages(site.busy())? - busy;
    let taken = of_pages(open.close())?;
    let own = of_pages(memory(std::process::id(), "VmRSS:"))?;
    let bytes = own + of_pages(site.most_memory())?;
    let what = format!("{what}, {RATE} versions a second, seen by one page");
    let mut bars = load_bars(&what, 1, [took, busy], &taken);
    bars.push(Bar::limit(
        "the same: from the request until the first page of a server has the image",
        &first,
    ));
    bars.push(Bar::new(
        "the same: memory of the simulation and the server, in MiB; what both have mapped counts \
         twice",
        bytes as f64 / f64::from(1 << 20),
        MOST,
        Unit::Count,
    ));
    Ok(bars)
}

/// Measures the time until the first page of a server has its first frame.
fn first_frames(name: &str, request: &Value) -> Outcome<Samples> {
    let mut first = Samples::default();
    for _ in 0..SERVERS {
        let site = of_pages(Site::start(name))?;
        let open = of_pages(Pages::open(&site, 1, request))?;
        first.extend(&of_pages(open.close())?.first);
    }
    Ok(first)
}
