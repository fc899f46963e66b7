//! The variants of a run: with everything, or without one mechanism.

use std::process::Command;
use tcasm_core::testing::ablation::{Mechanism, VARIABLE};

/// The mechanism that a run leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Nothing. The other variants are compared with this one.
    Everything,
    /// Nothing as well. The difference between two equal variants is the noise.
    Nothing,
    /// One mechanism.
    Without(Mechanism),
}

impl Variant {
    /// Returns the variants of a round, in order. If `only` has mechanisms, all others stay in.
    pub fn of_round(only: &[Mechanism]) -> Vec<Variant> {
        let wanted = |m: &&Mechanism| only.is_empty() || only.contains(m);
        let mechanisms = Mechanism::ALL.iter().filter(wanted);
        let without = mechanisms.map(|m| Variant::Without(*m));
        let mut variants = vec![Variant::Everything];
        variants.extend(without);
        variants.push(Variant::Nothing);
        variants
    }

    /// Returns the name of what is left out, as in rows.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Everything => "everything",
            Variant::Nothing => "nothing",
            Variant::Without(mechanism) => mechanism.name(),
        }
    }

    /// Makes the command leave out what this variant leaves out, and nothing else.
    pub fn apply(self, command: &mut Command) {
        match self {
            Variant::Without(mechanism) => command.env(VARIABLE, mechanism.name()),
            Variant::Everything | Variant::Nothing => command.env_remove(VARIABLE),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_begins_and_ends_with_everything() {
        let all = Variant::of_round(&[]);
        assert_eq!(all.len(), Mechanism::ALL.len() + 2);
        assert_eq!(all.first(), Some(&Variant::Everything));
        assert_eq!(all.last(), Some(&Variant::Nothing));
        let one = Variant::of_round(&[Mechanism::Doubts]);
        assert_eq!(one[1..2], [Variant::Without(Mechanism::Doubts)]);
        assert_eq!(one.len(), 3);
    }
}
