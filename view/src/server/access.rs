//! Access control: regions are only for clients that know the token, and not for pages of other
//! sites.
//!
//! The page and its files are the same for everybody and contain nothing of any region. A page
//! opens a WebSocket without the token, and proves there that it knows the token (`greeting`).
//! There is no cookie: browsers send the cookies of a host to all of its ports, and so to other
//! users' servers.

use super::lobby::Guest;
use super::proof::Keys;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use thiserror::Error;

/// The rules that each request is checked against.
#[derive(Clone, Debug)]
pub struct Access {
    keys: Arc<Keys>,
    /// True if only this machine can reach the server. A request for another host then comes from a
    /// page whose host name was made to point to this machine.
    local: bool,
}

/// A mark on a request that came with the token.
#[derive(Clone, Copy, Debug)]
pub struct KnowsToken;

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The path needs the token, and the request has none.
    #[error(
        "this request needs the token of the address that `tcasm view` has printed: ?token=TOKEN"
    )]
    NoToken,
    /// The request has a token of another server.
    #[error(
        "the token is not the one of this server: \
         take it from the address that `tcasm view` has printed"
    )]
    WrongToken,
    /// The request is for another host than this machine.
    #[error(
        "this server answers to localhost only; \
         open the address that `tcasm view` has printed, through a tunnel if need be"
    )]
    OtherHost,
    /// The request comes from a page of another site.
    #[error("this request comes from the page of another site")]
    OtherOrigin,
}

impl Access {
    /// Returns rules that let clients in that know the token of `keys`. If `local`, the host of a
    /// request must be a name of this machine.
    pub fn new(keys: Arc<Keys>, local: bool) -> Self {
        Access { keys, local }
    }

    /// Returns true if a request comes with the token, false if its path needs none, or the reason
    /// why it is refused.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<bool, Refused> {
        self.check_source(uri, headers)?;
        match query_token(uri) {
            Some(token) if self.keys.is_token(token) => Ok(true),
            Some(_) => Err(Refused::WrongToken),
            None if is_open(uri.path()) => Ok(false),
            None => Err(Refused::NoToken),
        }
    }

    /// Checks that the request does not come from a page of another site.
    fn check_source(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let host = host(uri, headers);
        if self.local && !is_local(host) {
            return Err(Refused::OtherHost);
        }
        if text(headers, &ORIGIN).is_some_and(|origin| authority(origin) != Some(host)) {
            return Err(Refused::OtherOrigin);
        }
        let fetched = |name: &'static str| text(headers, &HeaderName::from_static(name));
        if fetched("sec-fetch-site") == Some("cross-site")
            && fetched("sec-fetch-mode") != Some("navigate")
        {
            return Err(Refused::OtherOrigin);
        }
        Ok(())
    }
}

/// Returns true for a path that needs no token: the page, and the WebSockets over which a client
/// proves itself.
fn is_open(path: &str) -> bool {
    matches!(path, "/" | "/colormaps" | "/relay" | "/ws") || path.starts_with("/assets/")
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the host, and the port if it is not the default one, by which the browser knows this
/// server. A tunnel may have changed both.
fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> &'r str {
    let named = uri.authority().map(|authority| authority.as_str());
    text(headers, &HOST).or(named).unwrap_or_default()
}

/// Returns the host and port of an origin: `localhost:8337` of `http://localhost:8337`.
fn authority(origin: &str) -> Option<&str> {
    origin.split_once("://").map(|(_, authority)| authority)
}

/// Returns a host without its port: `localhost` of `localhost:8337`.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_local(host: &str) -> bool {
    matches!(name(host), "localhost" | "127.0.0.1" | "[::1]")
}

fn query_token(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("token="))
}

/// Lets a request pass, or refuses it.
pub async fn check(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    match access.check(request.uri(), request.headers()) {
        Ok(true) => {
            if let Some(guest) = request.extensions().get::<Arc<Guest>>() {
                guest.let_in();
            }
            request.extensions_mut().insert(KnowsToken);
        }
        Ok(false) => {}
        Err(refused) => return (StatusCode::FORBIDDEN, refused.to_string()).into_response(),
    }
    next.run(request).await
}

/// The content security policy. It lets the page talk to this server only.
const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; \
                      base-uri 'none'; form-action 'none'";

/// Adds headers to every answer that restrict what the browser may do with it.
pub async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Arc<Keys> {
        Arc::new(Keys::new("secret", "127.0.0.1:8337", "process".to_owned()))
    }

    fn asked(uri: &str, headers: &[(&'static str, &str)]) -> Result<bool, Refused> {
        let access = Access::new(keys(), true);
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        access.check(&uri.parse().unwrap(), &headers.collect())
    }

    const HERE: (&str, &str) = ("host", "127.0.0.1:8337");

    #[test]
    fn requests_with_the_token_are_answered_from_every_name_of_this_machine() {
        let token = keys().token().to_owned();
        for path in ["/regions?token=", "/ws?region=a&token=", "/?token="] {
            assert_eq!(
                asked(&format!("{path}{token}"), &[HERE]),
                Ok(true),
                "{path}"
            );
        }
        for host in ["localhost", "localhost:1", "[::1]:8337", "[::1]"] {
            let uri = format!("/regions?token={token}");
            assert_eq!(asked(&uri, &[("host", host)]), Ok(true), "{host}");
        }
    }

    #[test]
    fn without_the_token_only_the_page_and_its_greeting_are_open() {
        for uri in [
            "/",
            "/assets/main.js",
            "/colormaps",
            "/relay",
            "/ws",
            "/ws?region=a",
        ] {
            assert_eq!(asked(uri, &[HERE]), Ok(false), "{uri}");
        }
        let token = keys().token().to_owned();
        for uri in [
            "/regions",
            "/nothing",
            "/assets",
            "/regions?x=token=1",
            "/ws/",
            "/relay/",
        ] {
            assert_eq!(asked(uri, &[HERE]), Err(Refused::NoToken), "{uri}");
        }
        for wrong in ["", "x", &token[1..], &token.to_uppercase()] {
            for path in ["/", "/regions", "/relay", "/ws"] {
                let uri = format!("{path}?token={wrong}");
                assert_eq!(asked(&uri, &[HERE]), Err(Refused::WrongToken), "{uri}");
            }
        }
        let cookie = format!("tcasm_view_8337={token}");
        let cookie = [HERE, ("cookie", cookie.as_str())];
        assert_eq!(asked("/regions", &cookie), Err(Refused::NoToken));
    }

    #[test]
    fn pages_of_others_are_refused_even_with_the_token() {
        let with = format!("/ws?token={}", keys().token());
        for uri in [with.as_str(), "/ws", "/"] {
            for origin in [
                "http://evil.example",
                "null",
                "http://127.0.0.1:8338",
                "http://127.0.0.1:8337.evil.example",
            ] {
                let refused = asked(uri, &[HERE, ("origin", origin)]);
                assert_eq!(refused, Err(Refused::OtherOrigin), "{origin}");
            }
            assert!(asked(uri, &[HERE, ("origin", "http://127.0.0.1:8337")]).is_ok());
            let cross = [
                HERE,
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ];
            assert_eq!(asked(uri, &cross), Err(Refused::OtherOrigin));
            for host in ["evil.example:8337", "127.0.0.1.evil.example", ""] {
                let refused = asked(uri, &[("host", host)]);
                assert_eq!(refused, Err(Refused::OtherHost), "{host}");
            }
        }
    }
}
