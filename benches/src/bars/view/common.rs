//! The requests of the pages in the measurements of the live view.

use crate::outcome::Outcome;
use crate::pages;
use serde_json::{Value, json};

/// Converts the error of a page. Errors of pages can be sent between threads, the others need not.
pub fn of_pages<T>(result: pages::Outcome<T>) -> Outcome<T> {
    result.map_err(|error| error.to_string().into())
}

/// Returns the view request of a page that was just opened: a slice through the middle, the
/// histogram of the field, and the changed pages.
pub fn view_request(field: &str, side: usize) -> Value {
    json!({
        "type": "view", "id": 1, "field": field, "histogram": 64, "pages": true,
        "slice": {"axes": [1, 2], "at": [side / 2, 0, 0], "pixels": [600, 800]},
    })
}
