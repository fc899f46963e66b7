//! The time of a restart without a file, from the memory of a dead producer.

use super::figures::{Figures, ms};
use crate::bars::{Bar, Unit};
use crate::outcome::Outcome;
use crate::samples::Samples;
use ndarray::Ix1;
use tcasm_observer::Observer;
use tcasm_producer::{Access, Kept, Producer, Receipt};
use tcasm_restart::{kept, rebuild};

const BYTES: usize = 512 << 20;
const WORDS: usize = BYTES / size_of::<u64>();
const ROUNDS: u64 = 8;
/// The time that a restart may take, in seconds.
const BAR: f64 = 0.5;

/// Measures the restart, and copying as many bytes into fresh memory, in turns. A run that has
/// ended normally, as here, is held for a second before it counts as kept ([`kept`]). That is not
/// counted: runs that are continued from memory have died.
pub fn measure(_: &std::path::Path) -> Outcome<Figures> {
    let [mut restored, mut copied] = [(); 2].map(|()| Samples::default());
    let mut producer = first()?;
    for round in 0..=ROUNDS {
        publish(&mut producer, round)?;
        let mut observer = Observer::attach("restart")?;
        // `tcasm keep` does the same.
        let holder = Kept::serve("restart", observer.objects()?, Access::SameUser)?;
        drop(producer);
        let mut times = [Samples::default(), Samples::default()];
        let last = kept("restart")?;
        let next = times[0].time(|| rebuild(Producer::builder("restart"), &last))?;
        check(&next, round)?;
        let version = observer.latest()?;
        let view = version.view()?;
        times[1].time(|| std::hint::black_box(view.bytes("words").map(<[u8]>::to_vec)))?;
        // The first round is not counted.
        if round > 0 {
            restored.extend(&times[0]);
            copied.extend(&times[1]);
        }
        drop((holder, last, view, version, observer));
        producer = next;
    }
    let mut text = format!(
        "{} MiB, {} processors.\n\n| what | median | p99 | max |\n|---|---|---|---|\n",
        BYTES >> 20,
        std::thread::available_parallelism()?
    );
    for (what, samples) in [
        ("region rebuilt from memory", &restored),
        ("copying into fresh memory by one thread", &copied),
    ] {
        let times = [0.5, 0.99, 1.0].map(|q| ms(samples.quantile(q)));
        text += &format!("| {what} | {} |\n", times.join(" | "));
    }
    let what = "restart of 512 MiB from memory, in parts of half a second";
    let bar = Bar::new(what, restored.median() / 1e9 / BAR, 1.0, Unit::Ratio);
    Ok(Figures {
        text,
        bars: vec![bar],
    })
}

fn first() -> Outcome<Producer> {
    let mut producer = Producer::builder("restart").capacity(BYTES).create()?;
    producer.field::<u64, _>("words", [WORDS]).add()?;
    Ok(producer)
}

/// Returns a word that contains the round and the index.
fn word(round: u64, at: usize) -> u64 {
    round << 32 | at as u64
}

fn publish(producer: &mut Producer, round: u64) -> Outcome<()> {
    let field = producer.handle::<u64, Ix1>("words")?;
    let mut view = producer.view_mut(field)?;
    for (at, value) in view.iter_mut().enumerate() {
        *value = word(round, at);
    }
    match producer.publish(round, 0.0)? {
        Receipt::Published(published) => {
            published.wait_visible(std::time::Duration::from_secs(60))?;
            Ok(())
        }
        skipped => Err(format!("round {round} was not published: {skipped:?}").into()),
    }
}

fn check(producer: &Producer, round: u64) -> Outcome<()> {
    let view = producer.view(producer.handle::<u64, Ix1>("words")?)?;
    let same = |(at, value): (usize, &u64)| *value == word(round, at);
    match view.iter().enumerate().all(same) {
        true => Ok(()),
        false => Err("the rebuilt region differs from the published bytes".into()),
    }
}
