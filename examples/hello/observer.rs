//! The smallest analysis: attach to `hello`, and print the sum of each version until the producer ends.

use std::time::Duration;
use tcasm_examples::Outcome;
use tcasm_observer::{Observer, Status};

fn main() -> Outcome {
    let mut observer = Observer::attach("hello")?;
    loop {
        match observer.wait_newer(Duration::from_secs(5))? {
            Status::Ok(version) => {
                let heat = version.view::<f64>("heat")?;
                println!(
                    "step {}: the heat is {} K in all",
                    version.stamp().step,
                    heat.sum()
                );
            }
            Status::NotReady => println!("nothing new for 5 seconds"),
            Status::EndOfStream => return Ok(()),
        }
    }
}
