//! The command line of `bars`.

use super::GROUPS;
use tcasm_compare::user::User;

/// The groups that are measured, and the users as whom they run.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The users as whom the groups are measured.
    pub users: Vec<User>,
    /// True if the bars are printed as JSON, for the program that has started this one.
    pub json: bool,
    /// True if nothing is measured, and [`usage`] is printed.
    pub help: bool,
    /// The names of the groups. If empty, all groups are measured.
    groups: Vec<String>,
}

impl Options {
    /// Reads the arguments of a program that `current` has started.
    pub fn parse(args: impl IntoIterator<Item = String>, current: User) -> Result<Self, String> {
        let mut options = Options {
            users: match current {
                User::Root => vec![User::Root, User::Ordinary],
                User::Ordinary => vec![User::Ordinary],
            },
            json: false,
            help: false,
            groups: Vec::new(),
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-h" | "--help" => options.help = true,
                "--json" => (options.json, options.users) = (true, vec![current]),
                "--user" => options.users = vec![user(args.next(), current)?],
                groups => options.add(groups)?,
            }
        }
        Ok(options)
    }

    /// Returns true if this group is measured.
    pub fn wants(&self, group: &str) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|wanted| wanted == group)
    }

    fn add(&mut self, groups: &str) -> Result<(), String> {
        for group in groups.split(',') {
            if !GROUPS.iter().any(|(name, _)| *name == group) {
                return Err(format!(
                    "there is no group {group:?}; the groups are {}",
                    names()
                ));
            }
            self.groups.push(group.to_owned());
        }
        Ok(())
    }
}

/// Returns the text that `--help` prints.
pub fn usage() -> String {
    format!(
        "Measures the goals of TCASM: all groups, or those that are given.\n\n\
         Usage: bars [--user root|ordinary] [GROUP,...]\n\n\
         Groups: {}",
        names()
    )
}

/// Returns the names of all groups.
fn names() -> String {
    GROUPS.map(|(name, _)| name).join(", ")
}

/// Reads the value of `--user`.
fn user(name: Option<String>, current: User) -> Result<User, String> {
    match name.as_deref() {
        Some("ordinary") => Ok(User::Ordinary),
        Some("root") if current == User::Root => Ok(User::Root),
        Some("root") => Err("only root can measure with --user root".to_owned()),
        _ => Err("--user needs root or ordinary".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str], current: User) -> Result<Options, String> {
        Options::parse(args.iter().map(|arg| (*arg).to_owned()), current)
    }

    #[test]
    fn root_measures_as_both_users_unless_one_is_selected() {
        let users = |args: &[&str], current| parse(args, current).map(|options| options.users);
        let both = vec![User::Root, User::Ordinary];
        assert_eq!(users(&[], User::Root), Ok(both));
        let ordinary = Ok(vec![User::Ordinary]);
        assert_eq!(users(&["--user", "ordinary"], User::Root), ordinary);
        assert_eq!(users(&["--user", "root"], User::Root), Ok(vec![User::Root]));
        assert_eq!(users(&[], User::Ordinary), ordinary);
        assert!(users(&["--user", "root"], User::Ordinary).is_err());
        assert!(users(&["--user"], User::Root).is_err());
        assert!(users(&["--user", "nobody"], User::Root).is_err());
        assert_eq!(users(&["--json"], User::Root), Ok(vec![User::Root]));
    }

    #[test]
    fn help_names_every_group() {
        for option in ["-h", "--help"] {
            assert!(parse(&["dense", option], User::Ordinary).unwrap().help);
        }
        assert!(!parse(&["dense"], User::Ordinary).unwrap().help);
        let text = usage();
        assert!(GROUPS.iter().all(|(name, _)| text.contains(name)), "{text}");
    }

    #[test]
    fn groups_are_selected_by_name() {
        let all = parse(&[], User::Root).unwrap();
        assert!(all.wants("dense") && all.wants("view"));
        let some = parse(&["dense,small", "--user", "root"], User::Root).unwrap();
        assert!(some.wants("dense") && some.wants("small") && !some.wants("view"));
        let error = parse(&["dence"], User::Root).unwrap_err();
        assert!(
            error.contains("\"dence\"") && error.contains("hand-over"),
            "{error}"
        );
    }
}
