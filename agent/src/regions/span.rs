//! The least and the greatest of some numbers.

/// The least and the greatest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The least number.
    pub min: u64,
    /// The greatest number.
    pub max: u64,
}

impl Span {
    /// The span of no numbers.
    pub const EMPTY: Span = Span {
        min: u64::MAX,
        max: 0,
    };

    /// Returns the span of one number.
    pub fn one(number: u64) -> Span {
        Span {
            min: number,
            max: number,
        }
    }

    /// Returns the span of the numbers of both.
    pub fn with(self, other: Span) -> Span {
        Span {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Returns the number if all are the same, and there are any.
    pub fn only(self) -> Option<u64> {
        (self.min == self.max).then_some(self.min)
    }

    /// Returns true if there is no number.
    pub fn is_empty(self) -> bool {
        self.min > self.max
    }
}

impl FromIterator<u64> for Span {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Span {
        let spans = numbers.into_iter().map(Span::one);
        spans.fold(Span::EMPTY, Span::with)
    }
}
