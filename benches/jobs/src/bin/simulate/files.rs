//! Files of checkpoints, and the time that their parity takes.

use crate::Args;
use tcasm_jobs::parity::SCHEMES;

/// The checkpoints of which one is copied to the shared file system, as in `tcasm-agent`.
const DRAIN_EVERY: f64 = 10.0;

/// Prints the table.
pub fn print(args: &Args) {
    println!(
        "| ranks | nodes | files of a checkpoint, on nodes | files per second, on nodes | files \
         per second, on the shared file system | the same with a file per rank |"
    );
    println!("|---|---|---|---|---|---|");
    for side in &args.sides {
        row(args, *side);
    }
    println!();
    println!(
        "| redundancy, {} GiB per node | parity, GiB | sent, GiB | parity time, s |",
        args.state
    );
    println!("|---|---|---|---|");
    for scheme in SCHEMES {
        println!(
            "| {} | {:.1} | {:.1} | {:.0} |",
            scheme.name,
            args.state * scheme.parity,
            args.state * scheme.sent,
            scheme.seconds(args.state, args.network),
        );
    }
    println!();
}

fn row(args: &Args, side: usize) {
    let plan = args.plan(side);
    let ranks = plan.work.ranks();
    let nodes = ranks.div_ceil(plan.per_node) as f64;
    // The blocks, the parity and the node's part, and on the shared file system the blocks and one
    // file of the job for ParaView.
    let (local, shared) = (3.0 * nodes, nodes + 1.0);
    println!(
        "| {ranks} | {nodes} | {local} | {:.2} | {:.3} | {:.2} |",
        local / args.interval,
        shared / args.interval / DRAIN_EVERY,
        ranks as f64 / args.interval / DRAIN_EVERY,
    );
}
