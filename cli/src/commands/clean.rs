//! `tcasm clean`: removes what dead simulations have left in the folder of the regions.

use crate::failure::{Code, Failure};
use crate::output;
use tcasm_observer::runtime_dir;
use tcasm_producer::leftovers;

pub fn run(dry_run: bool) -> Result<(), Failure> {
    let folder = runtime_dir();
    let found = leftovers(!dry_run).map_err(|error| {
        let text = format!("cannot clean {folder:?}: {error}; nothing was removed");
        Failure::new(Code::Io, text)
    })?;
    if found.is_empty() {
        return output::line(&format!("nothing to remove in {}", folder.display()));
    }
    let done = if dry_run { "would remove" } else { "removed" };
    let mut result = Ok(());
    for file in &found {
        match &file.error {
            None => output::line(&format!("{done} {}", file.path.display()))?,
            Some(error) => {
                let text = format!("cannot remove {:?}: {error}; remove it by hand", file.path);
                result = Err(Failure::new(Code::Io, text));
            }
        }
    }
    result
}
