//! The page and its files, which are part of the program.

use crate::colormaps;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "assets"]
struct Assets;

/// Answers `GET /`.
pub async fn page() -> Response {
    file("index.html")
}

/// Answers `GET /assets/NAME`.
pub async fn asset(Path(name): Path<String>) -> Response {
    file(&name)
}

/// Answers `GET /colormaps`.
pub async fn colormaps() -> Response {
    ([(CONTENT_TYPE, "application/json")], colormaps::json()).into_response()
}

fn file(name: &str) -> Response {
    match Assets::get(name) {
        Some(file) => ([(CONTENT_TYPE, media_type(name))], file.data).into_response(),
        None => (StatusCode::NOT_FOUND, format!("there is no file {name:?}")).into_response(),
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}
