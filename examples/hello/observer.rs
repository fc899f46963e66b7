//! The smallest observer: attaches to `hello` and prints the field of each version until the
//! producer ends.

use tcasm_examples::{Outcome, end_with_reader, region_name};
use tcasm_observer::Observer;

fn main() -> Outcome {
    end_with_reader(); // without a message, as in `hello_observer | head`
    let mut observer = Observer::attach(&region_name("hello"))?;
    for version in observer.versions() {
        let version = version?;
        let view = version.view()?;
        let heat = view.array::<f64>("heat")?;
        println!("step {}: {heat}", version.step());
    }
    Ok(())
}
