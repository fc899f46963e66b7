//! The messages of a client: what it wants to see.

use crate::region::Axes;
use serde::Deserialize;
use tcasm_analytics::blocks;
use tcasm_core::field::FieldDesc;
use thiserror::Error;

/// Maximum length of a client message, in bytes.
pub const MAX_MESSAGE: usize = 16 << 10;
/// Maximum number of samples along an axis of an image.
pub const MAX_PIXELS: usize = 4096;
/// Maximum number of samples of a line. A sample of a longer axis is the mean of a block.
pub const MAX_LINE: usize = 8192;
/// Maximum number of samples along an axis of a volume.
pub const MAX_VOLUME: usize = 256;
/// Maximum number of points of a scene.
pub const MAX_POINTS: usize = 1 << 20;
/// Maximum number of triangles of a surface. A larger surface is made coarser.
pub const MAX_TRIANGLES: usize = 1_000_000;
/// Maximum number of bins of a histogram.
pub const MAX_BINS: usize = 1024;
/// Maximum number of indices of a point. No field has as many axes.
pub const MAX_AXES: usize = 16;
/// Maximum number of other fields whose moments a client can ask for.
pub const MAX_ALSO: usize = 256;

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ClientMessage {
    /// The client wants to see this from now on.
    View(Box<ViewRequest>),
    /// The client has drawn a frame.
    Drawn {
        /// Number of the frame.
        frame: u64,
    },
    /// The client wants to know which regions there are.
    Regions,
}

/// All that a client wants to see.
///
/// Indices refer to the field without ghost layers. Axes are in the order of a C array, x last.
///
/// The field can be one of a whole: of all blocks of a block-structured mesh (AMR). Indices refer
/// to cells of equal size then, and the slice, the point and the statistics are those of all blocks
/// that are used in the version.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ViewRequest {
    /// A number that the frames that answer repeat.
    pub id: u64,
    /// Name of the field; of a field of a whole, the name of the whole and the name of the
    /// quantity, separated by `/`.
    pub field: String,
    /// The cells of a whole that indices refer to: where the first one begins, and their size. If
    /// absent, those of the version. Not used for other fields.
    pub axes: Option<Axes>,
    /// The component of a vector; `None` for its magnitude.
    pub component: Option<usize>,
    /// The version, which is sent once; `None` to follow the newest version.
    pub version: Option<u64>,
    /// A second version to compare with. The client gets an image of it, too.
    pub compare: Option<u64>,
    /// The slice that the image shows.
    pub slice: Option<Slice>,
    /// The line whose values are wanted.
    pub line: Option<Line>,
    /// The indices of the point whose value is wanted.
    pub probe: Option<Vec<usize>>,
    /// Number of bins of a histogram of the whole field.
    pub histogram: Option<usize>,
    /// Maximum number of samples along each axis of a volume of the whole field.
    pub volume: Option<usize>,
    /// The field in space: for fields on particles and on unstructured meshes.
    pub scene: Option<SceneRequest>,
    /// True if the pages that changed are wanted.
    pub pages: bool,
    /// Names of other fields whose moments are wanted.
    pub also: Vec<String>,
}

/// A plane through a field, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Slice {
    /// The axes that are the rows and the columns of the image. For a field of one axis they are
    /// `[0, 0]`, and the image has one row.
    pub axes: [usize; 2],
    /// The index where the plane cuts each axis of the field. The indices of rows and columns are
    /// not used.
    pub at: Vec<usize>,
    /// The window of rows, `[first, end)`; all rows if absent.
    #[serde(default)]
    pub rows: Option<[usize; 2]>,
    /// The window of columns, `[first, end)`; all columns if absent.
    #[serde(default)]
    pub cols: Option<[usize; 2]>,
    /// The number of rows and columns of samples that the screen can show.
    pub pixels: [usize; 2],
}

/// A line through a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Line {
    /// The axis that the line is parallel to.
    pub axis: usize,
    /// The indices of a point on the line. The index of `axis` is not used.
    pub at: Vec<usize>,
}

/// A field on particles or on an unstructured mesh, in space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct SceneRequest {
    /// Maximum number of points. If there are more, some are chosen.
    pub points: usize,
    /// True for the surface of an unstructured mesh, if it has one.
    #[serde(default)]
    pub surface: bool,
    /// Maximum number of triangles. A surface that has more is made coarser.
    #[serde(default = "most_triangles")]
    pub triangles: usize,
}

fn most_triangles() -> usize {
    MAX_TRIANGLES
}

/// The reason why a client message is refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The message has this many bytes, more than [`MAX_MESSAGE`].
    #[error("the message has {0} bytes; send at most {MAX_MESSAGE}")]
    TooLong(usize),
    /// The message is not valid JSON, or not one of [`ClientMessage`].
    #[error("not a message: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A number is out of its range.
    #[error("{what} is {value}; use {least} to {most}")]
    Number {
        /// The meaning of the number.
        what: &'static str,
        /// The number that was sent.
        value: usize,
        /// The least number that is allowed.
        least: usize,
        /// The greatest number that is allowed.
        most: usize,
    },
}

impl ClientMessage {
    /// Parses a message and checks its limits.
    pub fn parse(text: &str) -> Result<ClientMessage, MessageError> {
        if text.len() > MAX_MESSAGE {
            return Err(MessageError::TooLong(text.len()));
        }
        let message: ClientMessage = serde_json::from_str(text)?;
        if let ClientMessage::View(request) = &message {
            request.check()?;
        }
        Ok(message)
    }
}

impl ViewRequest {
    /// Checks the limits that bound the memory for an answer. Whether the field has the points can
    /// only be checked against a version.
    pub fn check(&self) -> Result<(), MessageError> {
        if let Some(slice) = &self.slice {
            within("the number of pixels", slice.pixels[0], 1, MAX_PIXELS)?;
            within("the number of pixels", slice.pixels[1], 1, MAX_PIXELS)?;
            within("the number of axes", slice.at.len(), 0, MAX_AXES)?;
        }
        if let Some(line) = &self.line {
            within("the number of axes", line.at.len(), 0, MAX_AXES)?;
        }
        if let Some(at) = &self.probe {
            within("the number of axes", at.len(), 0, MAX_AXES)?;
        }
        within(
            "the number of bins",
            self.histogram.unwrap_or(1),
            1,
            MAX_BINS,
        )?;
        within(
            "the number of points",
            self.scene.map_or(1, |scene| scene.points),
            1,
            MAX_POINTS,
        )?;
        within(
            "the number of triangles",
            self.scene.map_or(1, |scene| scene.triangles),
            1,
            MAX_TRIANGLES,
        )?;
        within(
            "the size of the volume",
            self.volume.unwrap_or(1),
            1,
            MAX_VOLUME,
        )?;
        within("the number of fields", self.also.len(), 0, MAX_ALSO)
    }

    /// Returns the names of the fields whose values are wanted. Names can repeat.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.field.as_str()).chain(self.also.iter().map(String::as_str))
    }

    /// Returns the request for a version in which the field is `desc`. If the length of the field
    /// may change, indices beyond its end become those of its end: the client may know the length
    /// of another version only.
    pub fn fitted(&self, desc: &FieldDesc) -> ViewRequest {
        let (mut fitted, shape) = (self.clone(), blocks::shape(desc));
        // The slowest axis is the first one of the array.
        let Some(len) = shape.first().copied().filter(|_| desc.capacity.is_some()) else {
            return fitted;
        };
        let clamp = |at: &mut Vec<usize>| {
            if let Some(index) = at.first_mut() {
                *index = (*index).min(len.saturating_sub(1));
            }
        };
        fitted.probe.iter_mut().for_each(clamp);
        fitted.line.iter_mut().for_each(|line| clamp(&mut line.at));
        if let Some(slice) = &mut fitted.slice {
            clamp(&mut slice.at);
            let [rows, cols] = slice.axes;
            for (axis, part) in [(rows, &mut slice.rows), (cols, &mut slice.cols)] {
                let ends = part.map(|[first, end]| [first, end.min(len)]);
                if axis == 0 {
                    *part = ends.filter(|[first, end]| first < end);
                }
            }
        }
        fitted
    }

    /// Returns true if both requests want the same of whole fields. Those parts are costly.
    pub fn same_whole(&self, other: &ViewRequest) -> bool {
        let whole = |request: &ViewRequest| {
            let field = (request.field.clone(), request.component, request.version);
            (
                field,
                request.histogram,
                request.volume,
                request.pages,
                request.also.clone(),
            )
        };
        whole(self) == whole(other)
    }
}

fn within(what: &'static str, value: usize, least: usize, most: usize) -> Result<(), MessageError> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        let error = MessageError::Number {
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
    use tcasm_core::field::DType;

    #[test]
    fn view_request_needs_only_a_field() {
        let message =
            ClientMessage::parse(r#"{"type":"view","id":3,"field":"u","version":null}"#).unwrap();
        let ClientMessage::View(request) = message else {
            panic!()
        };
        let right = ViewRequest {
            id: 3,
            field: "u".to_owned(),
            ..ViewRequest::default()
        };
        assert_eq!(*request, right);
    }

    #[test]
    fn request_over_a_limit_is_refused() {
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
            r#""scene":{"points":0}"#,
            r#""scene":{"points":1048577}"#,
            r#""scene":{"points":1,"triangles":0}"#,
            r#""scene":{"points":1,"triangles":1000001}"#,
            &axes,
            &also,
        ] {
            let text = format!(r#"{{"type":"view","id":1,"field":"u",{part}}}"#);
            let error = ClientMessage::parse(&text).unwrap_err();
            assert!(
                matches!(error, MessageError::Number { .. }),
                "{part}: {error}"
            );
        }
        let long = format!(
            r#"{{"type":"view","id":1,"field":"{}"}}"#,
            "u".repeat(MAX_MESSAGE)
        );
        assert!(matches!(
            ClientMessage::parse(&long),
            Err(MessageError::TooLong(_))
        ));
        for other in [
            "",
            "{}",
            "[]",
            r#"{"type":"shout"}"#,
            r#"{"type":"drawn","frame":-1}"#,
            r#"{"type":"view","id":1e99}"#,
        ] {
            assert!(
                matches!(ClientMessage::parse(other), Err(MessageError::Malformed(_))),
                "{other}"
            );
        }
    }

    #[test]
    fn indices_of_another_length_are_moved_to_the_end_of_the_field() {
        let slice = |at: usize, rows| Slice {
            axes: [0, 1],
            at: vec![at, 3],
            rows,
            cols: Some([2, 90]),
            pixels: [8, 8],
        };
        let request = |at: usize, rows| ViewRequest {
            probe: Some(vec![at, 3]),
            line: Some(Line {
                axis: 1,
                at: vec![at, 3],
            }),
            slice: Some(slice(at, rows)),
            ..ViewRequest::default()
        };
        let mut desc = FieldDesc::new("v", DType::F64, &[5, 100]);
        let late = request(9, Some([2, 10]));
        assert_eq!(late.fitted(&desc), late, "the length cannot change");
        desc.capacity = Some(20);
        assert_eq!(late.fitted(&desc), request(4, Some([2, 5])));
        let beyond = request(4, Some([7, 10])).fitted(&desc);
        assert_eq!(beyond, request(4, None));
        desc.shape = vec![0, 100];
        assert_eq!(late.fitted(&desc), request(0, None));
    }

    proptest! {
        #[test]
        fn no_message_makes_the_parser_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = ClientMessage::parse(&String::from_utf8_lossy(&bytes));
        }
    }
}
