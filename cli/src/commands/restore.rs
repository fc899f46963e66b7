//! `tcasm restore`: the newest checkpoint that can be read, as one file.

use crate::args::RestoreArgs;
use crate::exit::Failure;
use crate::output;
use tcasm_checkpoint::Checkpoint;

pub fn run(args: &RestoreArgs) -> Result<(), Failure> {
    let checkpoint = Checkpoint::restart(&args.dirs, args.step)?;
    for (path, error) in checkpoint.passed_over() {
        let path = path.display();
        super::checkpoint::complain(&format!("passed over {path}: {error}"));
    }
    let loaded = checkpoint.load()?;
    let bytes = tcasm_checkpoint::write(&args.out, &loaded.snapshot(), &args.storage.options())?;
    let stamp = loaded.stamp;
    output::text(&format!(
        "wrote {}  step {}  t = {}  {}, from {}\n",
        args.out.display(),
        stamp.step,
        output::number(stamp.time),
        output::bytes(bytes),
        checkpoint.path().display()
    ))
}
