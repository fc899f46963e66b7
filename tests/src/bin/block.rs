//! A rank with blocks of global arrays. It obeys commands, one per line. Each gets an answer, `ok`
//! or `error` with the reason.
//!
//! - `create GROUP RANK RANKS LOCAL [RUN]`: creates a region.
//! - `field NAME ORDER COMPONENTS GHOSTS SHAPE GLOBAL OFFSET`: adds a field of `u64`. Lists are
//!   numbers with commas between, or `-` if they are empty. GHOSTS has two numbers for each axis,
//!   and SHAPE includes them. GLOBAL and OFFSET are `none` for a field that has no place.
//! - `publish STEP`: fills all fields, and publishes them.  `close`: drops the producer.
//!
//! With the arguments `env GROUP LENGTH STEPS` it takes its place from the environment instead. It
//! publishes STEPS steps of its part of a field `u` of LENGTH values, and waits to be killed.

use std::io::BufRead;
use tcasm_producer::ndarray::{ArrayViewMutD, Dimension, IxDyn};
use tcasm_producer::{Field, Group, Producer};
use tcasm_tests::child::DEADLINE;
use tcasm_tests::ranks::{GHOST, HISTORY, block_value};

type Failure = Box<dyn std::error::Error>;

/// A field, and what is needed to fill it.
struct Filled {
    field: Field<u64, IxDyn>,
    ghosts: Vec<[usize; 2]>,
    components: usize,
    global: Vec<usize>,
    offset: Vec<usize>,
}

struct Region {
    producer: Producer,
    rank: u32,
    fields: Vec<Filled>,
}

fn main() -> Result<(), Failure> {
    tcasm_tests::child::die_with_parent();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["env", group, length, steps] => by_environment(group, length.parse()?, steps.parse()?),
        _ => obey_lines(),
    }
}

fn by_environment(group: &str, length: usize, steps: u64) -> Result<(), Failure> {
    let place = Group::from_env()?;
    let (rank, ranks) = (place.rank(), place.ranks());
    let mut region = Region::new(group, place)?;
    let start = |rank: u32| length * rank as usize / ranks as usize;
    let (first, end) = (start(rank), start(rank + 1));
    region.add(&format!("u C 1 0,0 {} {length} {first}", end - first))?;
    for step in 1..=steps {
        region.publish(step)?;
    }
    println!("ok {rank} of {ranks}");
    loop {
        std::thread::park();
    }
}

fn obey_lines() -> Result<(), Failure> {
    let mut region = None;
    for line in std::io::stdin().lock().lines() {
        match obey(&mut region, &line?) {
            Ok(()) => println!("ok"),
            Err(error) => println!("error {error}"),
        }
    }
    Ok(())
}

fn obey(region: &mut Option<Region>, line: &str) -> Result<(), Failure> {
    let own = |region: &mut Option<Region>| region.take().ok_or("it has no region");
    match line.split_once(' ').unwrap_or((line, "")) {
        ("create", rest) => {
            let words: Vec<&str> = rest.splitn(5, ' ').collect();
            let [group, rank, ranks, local, ref run @ ..] = words[..] else {
                return Err(format!("no command {line:?}").into());
            };
            let place = Group::new(rank.parse()?, ranks.parse()?).local_ranks(local.parse()?);
            *region = Some(Region::new(group, place.run(&run.concat()))?);
        }
        ("field", rest) => region.as_mut().ok_or("it has no region")?.add(rest)?,
        ("publish", step) => {
            let region = region.as_mut().ok_or("it has no region")?;
            region.publish(step.parse()?)?;
        }
        ("close", _) => drop(own(region)?),
        _ => return Err(format!("no command {line:?}").into()),
    }
    Ok(())
}

fn list(text: &str) -> Result<Vec<usize>, Failure> {
    match text {
        "-" | "none" => Ok(Vec::new()),
        text => Ok(text.split(',').map(str::parse).collect::<Result<_, _>>()?),
    }
}

impl Region {
    fn new(group: &str, place: Group) -> Result<Self, Failure> {
        let rank = place.rank();
        let builder = Producer::builder(group).group(place).history(HISTORY);
        Ok(Region {
            producer: builder.capacity(4 << 20).create()?,
            rank,
            fields: Vec::new(),
        })
    }

    fn add(&mut self, line: &str) -> Result<(), Failure> {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, order, components, ghosts, shape, global, offset] = words[..] else {
            return Err(format!("no field {line:?}").into());
        };
        let (components, mut shape) = (components.parse()?, list(shape)?);
        let ghosts = list(ghosts)?
            .chunks_exact(2)
            .map(|g| [g[0], g[1]])
            .collect::<Vec<_>>();
        shape.extend((components > 1).then_some(components));
        let builder = self
            .producer
            .field::<u64, _>(name, IxDyn(&shape))
            .ghosts(&ghosts);
        let builder = match order {
            "F" => builder.fortran_order(),
            _ => builder,
        };
        let builder = match components {
            1 => builder,
            _ => builder.vector(),
        };
        let builder = match global {
            "none" => builder,
            global => builder.global(list(global)?).at(list(offset)?),
        };
        let field = builder.add()?;
        self.fields.push(Filled {
            field,
            ghosts,
            components,
            global: list(global)?,
            offset: list(offset)?,
        });
        Ok(())
    }

    fn publish(&mut self, step: u64) -> Result<(), Failure> {
        for filled in &self.fields {
            filled.fill(self.producer.view_mut(filled.field)?, self.rank, step);
        }
        let receipt = self.producer.publish_wait(step, step as f64, DEADLINE)?;
        receipt.version().ok_or("nothing was published")?;
        match self.producer.wait_captured(DEADLINE) {
            true => Ok(()),
            false => Err("the capture does not end".into()),
        }
    }
}

impl Filled {
    /// Stores in each interior value what belongs to its global index, or to its local one if the
    /// field has no place, and in each ghost what must not be seen.
    fn fill(&self, mut array: ArrayViewMutD<'_, u64>, rank: u32, step: u64) {
        let shape = array.shape().to_vec();
        for (at, value) in array.indexed_iter_mut() {
            let at = at.slice();
            let c = if self.components > 1 {
                at[at.len() - 1]
            } else {
                0
            };
            let index = self.number(at, &shape);
            *value = index.map_or(GHOST, |index| block_value(rank, step, index, c));
        }
    }

    /// Returns the number in C order of the value at `at`, or `None` for a ghost.
    fn number(&self, at: &[usize], shape: &[usize]) -> Option<usize> {
        let mut number = 0;
        for (axis, [before, after]) in self.ghosts.iter().enumerate() {
            let inside = *before..shape[axis] - after;
            let (extent, offset) = match self.global.get(axis) {
                Some(extent) => (*extent, self.offset[axis]),
                None => (inside.len(), 0),
            };
            let local = inside.contains(&at[axis]).then(|| at[axis] - before)?;
            number = number * extent + offset + local;
        }
        Some(number)
    }
}
