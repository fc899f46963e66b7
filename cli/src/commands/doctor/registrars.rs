//! Tries what memory can be registered with for devices (`tcasm-registration`).

use serde::Serialize;
use tcasm_registration::Verdict;

/// A registrar, and the reason why it cannot be used here, if there is one.
#[derive(Debug, Serialize)]
pub struct Registrar {
    pub name: &'static str,
    pub problem: Option<String>,
}

/// The registrars, and those of them that work.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Registrars(Vec<Registrar>);

impl Registrars {
    /// Registers a page with each.
    pub fn check() -> Self {
        Registrars::of(tcasm_registration::probe())
    }

    fn of(verdicts: Vec<Verdict>) -> Self {
        let registrar = |verdict: Verdict| Registrar {
            name: verdict.registrar,
            problem: verdict.problem,
        };
        Registrars(verdicts.into_iter().map(registrar).collect())
    }

    /// Returns a line for each: its name, and whether it works.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.0.iter().map(|one| {
            let text = match &one.problem {
                None => "works".to_owned(),
                Some(problem) => format!("does not work here: {problem}"),
            };
            (one.name, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_registrar_has_a_line_with_its_problem() {
        let verdict = |registrar, problem: Option<&str>| Verdict {
            registrar,
            problem: problem.map(str::to_owned),
        };
        let tried = Registrars::of(vec![verdict("mlock", None), verdict("cuda", Some("none"))]);
        let lines: Vec<_> = tried.lines().collect();
        assert_eq!(lines[0], ("mlock", "works".to_owned()));
        assert_eq!(lines[1], ("cuda", "does not work here: none".to_owned()));
    }
}
