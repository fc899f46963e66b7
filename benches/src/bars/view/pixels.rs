//! The same field in a real browser: the time from publish to the pixels.

use super::super::bar::Bar;
use super::common::of_pages;
use super::steady::{RATE, SECONDS, SIDE, Steady};
use crate::outcome::Outcome;
use crate::pages::Site;
use crate::programs::Program;
use crate::samples::Samples;
use std::process::Command;

/// The script that opens the page in a browser without a screen, and prints what the page measured.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../view/web-tests/pixels.js");

/// Measures the time from publish to the pixels of one page.
pub fn measure() -> Vec<Bar> {
    vec![run().expect("measured")]
}

fn run() -> Outcome<Bar> {
    let name = format!("bars-pixels-{}", std::process::id());
    let mut steady = Steady::start(&name)?;
    let site = of_pages(Site::start(&name))?;
    let mut command = Command::new("node");
    command
        .args([SCRIPT, &site.url()])
        .arg((SECONDS + 1).to_string());
    let mut browser = Program::run("node", command)?;
    let open = browser.wait_for(|line| (line == "open\n").then_some(()));
    open.ok_or("the page was not drawn; install what it needs: ci/view.sh --install")?;
    steady.run()?;
    let ms: Vec<f64> = serde_json::from_str(&browser.finish()?)?;
    let mut samples = Samples::default();
    ms.iter().for_each(|ms| samples.add_ns(ms * 1e6));
    let what = format!(
        "{SIDE}^3 doubles, {RATE} versions a second: from publish to the pixels of Chromium, drawn \
         without a graphics card ({} of {} versions)",
        ms.len(),
        RATE * SECONDS
    );
    Ok(Bar::limit(&what, &samples))
}
