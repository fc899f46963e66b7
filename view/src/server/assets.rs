//! The page and its files, which are part of the program. The files in `vendor` are from other
//! projects: `ci/vendor.sh` fetches them, and `build.rs` checks that they are there.

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of other projects. Each line has the SHA-256 hash and the name of one.
    const LIST: &str = include_str!("../../vendor/files.sha256");

    fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
        LIST.lines().map(|line| line.split_once("  ").unwrap())
    }

    fn text(name: &str) -> String {
        String::from_utf8(Assets::get(name).unwrap().data.into_owned()).unwrap()
    }

    #[test]
    fn files_of_other_projects_have_the_listed_hashes() {
        for (wanted, name) in listed() {
            let file = Assets::get(&format!("vendor/{name}")).expect(name);
            let hash = file.metadata.sha256_hash();
            let hash = hash.map(|byte| format!("{byte:02x}")).concat();
            assert_eq!(hash, wanted, "{name}: run `make setup`");
        }
    }

    /// Their licence requires that every copy contains its text.
    #[test]
    fn licences_stand_beside_the_files_of_other_projects() {
        for (_, name) in listed() {
            // The first part of a name is a package, or the owner of one.
            let parts = if name.starts_with('@') { 2 } else { 1 };
            let package: Vec<_> = name.split('/').take(parts).collect();
            let licence = text(&format!("vendor/{}/LICENSE", package.join("/")));
            assert!(licence.contains("Copyright (c)"), "{package:?}: {licence}");
        }
    }

    #[test]
    fn every_file_that_the_page_loads_is_part_of_the_program() {
        let page = text("index.html");
        let from_page = page.split("\"/assets/").skip(1);
        let from_page = from_page.map(|rest| rest.split('"').next().unwrap().to_owned());
        let modules = Assets::iter().filter(|name| name.ends_with(".js"));
        let imported = modules.flat_map(|name| imports(&name));
        let all: Vec<_> = from_page.chain(imported).collect();
        for wanted in ["main.js", "style.css", "vendor/@noble/hashes/_md.js"] {
            assert!(all.iter().any(|name| name == wanted), "{wanted}: {all:?}");
        }
        for name in all {
            assert!(Assets::get(&name).is_some(), "the page needs {name}");
        }
    }

    /// Returns the modules that a module imports from beside it or from below.
    fn imports(module: &str) -> Vec<String> {
        let folder = module.rsplit_once('/').map_or("", |(folder, _)| folder);
        let text = text(module).replace('"', "'");
        let places = text.split(" from './").skip(1);
        let names = places.map(|rest| rest.split('\'').next().unwrap());
        let paths = names.map(|name| format!("{folder}/{name}"));
        paths
            .map(|path| path.trim_start_matches('/').to_owned())
            .collect()
    }
}
