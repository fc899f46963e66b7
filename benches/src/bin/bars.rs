//! Measures the goals of TCASM: `bars [--user root|ordinary] [GROUP,...]` prints a table of all
//! groups, or of those that are given.
//!
//! If root starts it, it measures each group as root, and then in a child process as an ordinary
//! user, who has no privileges. `--user` selects one of them. With `--json`, which is for this
//! child, it prints one object for each group instead of the table. `--help` prints the names of
//! the groups.

use std::process::ExitCode;
use tcasm_benches::bars::{GROUPS, Group, Options, Runs, head, lines, measure_here, usage};
use tcasm_benches::outcome::Outcome;
use tcasm_benches::programs;
use tcasm_compare::user::User;

fn main() -> ExitCode {
    programs::outcome(run())
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1), User::current())?;
    if options.help {
        println!("{}", usage());
        return Ok(());
    }
    let wanted = |group: &Group| options.wants(group.0);
    let groups: Vec<Group> = GROUPS.into_iter().filter(wanted).collect();
    let runs = Runs::prepare(&groups, &options.users)?;
    if options.json {
        return print_json(&groups);
    }
    print_table(&groups, &options.users, &runs)
}

fn print_json(groups: &[Group]) -> Outcome<()> {
    for group in groups {
        println!("{}", serde_json::to_string(&measure_here(group)?)?);
    }
    Ok(())
}

fn print_table(groups: &[Group], users: &[User], runs: &Runs) -> Outcome<()> {
    println!("{}", head(users));
    let mut rights = vec![String::new(); users.len()];
    for group in groups {
        let mut measured = Vec::new();
        for (user, rights) in users.iter().zip(&mut rights) {
            let mut bars = Vec::new();
            if let Some(of_user) = runs.measure(group, *user)? {
                (*rights, bars) = (of_user.rights, of_user.bars);
            }
            measured.push((*user, bars));
        }
        lines(&measured).iter().for_each(|line| println!("{line}"));
    }
    println!("\nMeasured as:\n");
    for (user, rights) in users.iter().zip(&rights) {
        println!("- *{}*: {rights}", user.title());
    }
    Ok(())
}
