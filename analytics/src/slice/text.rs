//! Selections as text, in numpy's notation.

use super::{Pick, Selection, SelectionError};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pick::Index(index) => index.fmt(f),
            Pick::Rest => f.write_str("..."),
            Pick::Range { start, stop, step } => {
                let text = |at: &Option<isize>| at.map(|at| at.to_string()).unwrap_or_default();
                write!(f, "{}:{}", text(start), text(stop))?;
                if *step == 1 {
                    Ok(())
                } else {
                    write!(f, ":{step}")
                }
            }
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.picks.is_empty() {
            return f.write_str("...");
        }
        let picks: Vec<String> = self.picks.iter().map(Pick::to_string).collect();
        f.write_str(&picks.join(","))
    }
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let items = text.split(',').enumerate();
        let picks: Vec<Pick> = items
            .map(|(i, item)| {
                Item {
                    text,
                    number: i + 1,
                    item: item.trim(),
                }
                .pick()
            })
            .collect::<Result<_, _>>()?;
        if picks.iter().filter(|p| **p == Pick::Rest).count() > 1 {
            return Err(SelectionError::TwoRests {
                text: text.to_owned(),
            });
        }
        Ok(Selection { picks })
    }
}

/// One item of the text, with the data for its error messages.
struct Item<'t> {
    text: &'t str,
    number: usize,
    item: &'t str,
}

impl Item<'_> {
    fn pick(&self) -> Result<Pick, SelectionError> {
        let (text, item) = (self.text.to_owned(), self.number);
        let parts: Vec<&str> = self.item.split(':').map(str::trim).collect();
        match parts[..] {
            [""] => Err(SelectionError::EmptyItem { text, item }),
            ["..."] => Ok(Pick::Rest),
            [index] => Ok(Pick::Index(self.integer(index)?)),
            [start, stop] => self.range(start, stop, ""),
            [start, stop, step] => self.range(start, stop, step),
            _ => Err(SelectionError::TooManyColons { text, item }),
        }
    }

    fn range(&self, start: &str, stop: &str, step: &str) -> Result<Pick, SelectionError> {
        let optional = |part: &str| (!part.is_empty()).then(|| self.integer(part)).transpose();
        let step = optional(step)?.unwrap_or(1);
        if step == 0 {
            return Err(SelectionError::ZeroStep {
                text: self.text.to_owned(),
                item: self.number,
            });
        }
        Ok(Pick::Range {
            start: optional(start)?,
            stop: optional(stop)?,
            step,
        })
    }

    fn integer(&self, part: &str) -> Result<isize, SelectionError> {
        part.parse().map_err(|_| SelectionError::NotAnInteger {
            text: self.text.to_owned(),
            item: self.number,
            part: part.to_owned(),
        })
    }
}
