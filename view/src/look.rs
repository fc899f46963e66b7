//! What a client wants to see.

use serde::Deserialize;
use thiserror::Error;

/// The longest message of a client, in bytes.
pub const MAX_MESSAGE: usize = 16 << 10;
/// Most samples along an axis of an image.
pub const MAX_PIXELS: usize = 4096;
/// Most samples of a line; longer axes come as blocks.
pub const MAX_LINE: usize = 8192;
/// Most samples along an axis of a volume.
pub const MAX_VOLUME: usize = 256;
/// Most bins of a histogram.
pub const MAX_BINS: usize = 1024;
/// More axes than any field has here.
pub const MAX_AXES: usize = 16;
/// Most fields whose moments come besides.
pub const MAX_ALSO: usize = 256;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Said {
    /// From now on it wants to see this.
    Look(Box<Look>),
    /// It has drawn this frame.
    Got {
        /// Number of the frame.
        frame: u64,
    },
    /// It wants to know which regions there are.
    Regions,
}

/// All that a client wants to see. Indices count in the field without ghost layers, its axes in the order of a C array, x last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Look {
    /// Comes back in the frames that answer.
    pub id: u64,
    /// Name of the field.
    pub field: String,
    /// One component of a vector, or its magnitude.
    pub component: Option<usize>,
    /// One version, once; or the newest, again and again.
    pub version: Option<u64>,
    /// Another version, of which an image is wanted too.
    pub compare: Option<u64>,
    /// An image.
    pub slice: Option<Slice>,
    /// The values along a line.
    pub line: Option<Line>,
    /// The value of a point.
    pub probe: Option<Vec<usize>>,
    /// Bins of a histogram of the whole field.
    pub histogram: Option<usize>,
    /// Most samples along each axis of a block of the whole field.
    pub volume: Option<usize>,
    /// Which pages changed.
    pub pages: bool,
    /// Other fields whose moments are wanted.
    pub also: Vec<String>,
}

/// A plane through a field, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Slice {
    /// The axes that are rows and columns of the image; of a field of one axis `[0, 0]`, for an image of one row.
    pub axes: [usize; 2],
    /// Where the plane cuts the other axes: one number for each axis of the field.
    pub at: Vec<usize>,
    /// First row, and first row no longer taken; all if absent.
    #[serde(default)]
    pub rows: Option<[usize; 2]>,
    /// The same for columns.
    #[serde(default)]
    pub cols: Option<[usize; 2]>,
    /// How many samples the screen can show: rows and columns.
    pub pixels: [usize; 2],
}

/// A line through a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Line {
    /// The axis it runs along.
    pub axis: usize,
    /// A point that it goes through.
    pub at: Vec<usize>,
}

/// Why a message is none.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum SaidError {
    #[error("a message of {0} bytes; at most {MAX_MESSAGE} are read")]
    TooLong(usize),
    #[error("not a message: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("{what} is {value}; use {least} to {most}")]
    Number {
        what: &'static str,
        value: usize,
        least: usize,
        most: usize,
    },
}

impl Said {
    /// Read a message.
    pub fn parse(text: &str) -> Result<Said, SaidError> {
        if text.len() > MAX_MESSAGE {
            return Err(SaidError::TooLong(text.len()));
        }
        let said: Said = serde_json::from_str(text)?;
        if let Said::Look(look) = &said {
            look.check()?;
        }
        Ok(said)
    }
}

impl Look {
    /// Whether its numbers are such that answering takes bounded memory. Whether the field has such points, only a version knows.
    pub fn check(&self) -> Result<(), SaidError> {
        if let Some(slice) = &self.slice {
            within("a number of pixels", slice.pixels[0], 1, MAX_PIXELS)?;
            within("a number of pixels", slice.pixels[1], 1, MAX_PIXELS)?;
            within("a number of axes", slice.at.len(), 0, MAX_AXES)?;
        }
        if let Some(line) = &self.line {
            within("a number of axes", line.at.len(), 0, MAX_AXES)?;
        }
        if let Some(at) = &self.probe {
            within("a number of axes", at.len(), 0, MAX_AXES)?;
        }
        within("a number of bins", self.histogram.unwrap_or(1), 1, MAX_BINS)?;
        within(
            "a size of a volume",
            self.volume.unwrap_or(1),
            1,
            MAX_VOLUME,
        )?;
        within("a number of fields", self.also.len(), 0, MAX_ALSO)
    }

    /// Whether what is costly, because it takes the whole field, is the same.
    pub fn same_whole(&self, other: &Look) -> bool {
        let whole = |look: &Look| {
            let field = (look.field.clone(), look.component, look.version);
            (
                field,
                look.histogram,
                look.volume,
                look.pages,
                look.also.clone(),
            )
        };
        whole(self) == whole(other)
    }
}

fn within(what: &'static str, value: usize, least: usize, most: usize) -> Result<(), SaidError> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        let error = SaidError::Number {
            what,
            value,
            least,
            most,
        };
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_look_may_say_as_little_as_a_field() {
        let said = Said::parse(r#"{"type":"look","id":3,"field":"u","version":null}"#).unwrap();
        let Said::Look(look) = said else { panic!() };
        let right = Look {
            id: 3,
            field: "u".to_owned(),
            ..Look::default()
        };
        assert_eq!(*look, right);
    }

    #[test]
    fn what_would_take_too_much_is_refused() {
        let slice = r#""slice":{"axes":[0,1],"at":[0,0],"pixels":[5000,1]}"#;
        let zero = r#""slice":{"axes":[0,1],"at":[0,0],"pixels":[0,1]}"#;
        let axes = format!(r#""probe":[{}0]"#, "0,".repeat(16));
        let also = format!(r#""also":[{}""]"#, r#""","#.repeat(256));
        for part in [
            slice,
            zero,
            r#""histogram":0"#,
            r#""histogram":1025"#,
            r#""volume":257"#,
            &axes,
            &also,
        ] {
            let text = format!(r#"{{"type":"look","id":1,"field":"u",{part}}}"#);
            let error = Said::parse(&text).unwrap_err();
            assert!(matches!(error, SaidError::Number { .. }), "{part}: {error}");
        }
        let long = format!(
            r#"{{"type":"look","id":1,"field":"{}"}}"#,
            "u".repeat(MAX_MESSAGE)
        );
        assert!(matches!(Said::parse(&long), Err(SaidError::TooLong(_))));
        for other in [
            "",
            "{}",
            "[]",
            r#"{"type":"shout"}"#,
            r#"{"type":"got","frame":-1}"#,
            r#"{"type":"look","id":1e99}"#,
        ] {
            assert!(
                matches!(Said::parse(other), Err(SaidError::Malformed(_))),
                "{other}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_message_makes_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Said::parse(&String::from_utf8_lossy(&bytes));
        }
    }
}
