//! Who may see the page: who knows the token, from a page of this server.

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use thiserror::Error;

/// The cookie that stands for the token after the first request.
const COOKIE_NAME: &str = "tcasm_view";

/// What is checked of each request.
#[derive(Clone, Debug)]
pub struct Access {
    token: String,
    /// Only this machine can reach the server: then requests for other hosts come from a page that lies about its name.
    loopback: bool,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum Refused {
    #[error(
        "the address lacks its token: open the one that `tcasm view` has printed, with all that follows `?`"
    )]
    NoToken,
    #[error(
        "the token is not the one of this server: open the address that `tcasm view` has printed"
    )]
    WrongToken,
    #[error(
        "this server answers to localhost only; open the address that `tcasm view` has printed, through a tunnel if need be"
    )]
    OtherHost,
    #[error("this request comes from the page of another site")]
    OtherOrigin,
}

impl Access {
    /// Who knows `token` may enter; on `loopback` only by a name of this machine.
    pub fn new(token: String, loopback: bool) -> Self {
        Access { token, loopback }
    }

    /// Whether a request is answered.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let host = text(headers, &HOST).or(uri.host()).unwrap_or_default();
        if self.loopback && !is_local(host) {
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
        match query_token(uri).or_else(|| cookie(headers)) {
            None => Err(Refused::NoToken),
            Some(token) if equal(token, &self.token) => Ok(()),
            Some(_) => Err(Refused::WrongToken),
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// `localhost:8337` of `http://localhost:8337`.
fn authority(origin: &str) -> Option<&str> {
    origin.split_once("://").map(|(_, authority)| authority)
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn query_token(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("token="))
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter();
    let mut pairs = all
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

/// Takes as long whatever the first difference is.
fn equal(a: &str, b: &str) -> bool {
    let differing = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differing == 0
}

/// Let a request pass, or refuse it. Who came with the token in the address gets it as a cookie.
pub async fn check(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    if let Err(refused) = access.check(request.uri(), request.headers()) {
        return (StatusCode::FORBIDDEN, refused.to_string()).into_response();
    }
    let by_address = query_token(request.uri()).is_some();
    let mut response = next.run(request).await;
    if by_address {
        let cookie = format!(
            "{COOKIE_NAME}={}; HttpOnly; SameSite=Strict; Path=/",
            access.token
        );
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
    }
    response
}

/// What a browser may do with the page: nothing but talk to this server.
const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Tell the browser to be strict, whatever the answer.
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

    fn asked(uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Refused> {
        let access = Access::new("secret".to_owned(), true);
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        access.check(&uri.parse().unwrap(), &headers.collect())
    }

    const HERE: (&str, &str) = ("host", "127.0.0.1:8337");

    #[test]
    fn the_token_opens_in_the_address_and_as_a_cookie() {
        assert_eq!(asked("/?token=secret", &[HERE]), Ok(()));
        assert_eq!(asked("/ws?region=a&token=secret", &[HERE]), Ok(()));
        assert_eq!(
            asked("/ws", &[HERE, ("cookie", "a=b; tcasm_view=secret")]),
            Ok(())
        );
        for host in ["localhost", "localhost:1", "[::1]:8337", "[::1]"] {
            assert_eq!(asked("/?token=secret", &[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn without_the_token_nothing_opens() {
        for uri in ["/", "/?tokens=secret", "/?x=token=secret", "/regions"] {
            assert_eq!(asked(uri, &[HERE]), Err(Refused::NoToken), "{uri}");
        }
        for uri in [
            "/?token=",
            "/?token=secre",
            "/?token=secrets",
            "/?token=Secret",
        ] {
            assert_eq!(asked(uri, &[HERE]), Err(Refused::WrongToken), "{uri}");
        }
        let cookies = [HERE, ("cookie", "tcasm_view2=secret; xtcasm_view=secret")];
        assert_eq!(asked("/", &cookies), Err(Refused::NoToken));
    }

    #[test]
    fn pages_of_others_are_refused_even_with_the_token() {
        let uri = "/ws?token=secret";
        for origin in [
            "http://evil.example",
            "null",
            "http://127.0.0.1:8338",
            "http://127.0.0.1:8337.evil.example",
        ] {
            let refused = asked(uri, &[HERE, ("origin", origin)]);
            assert_eq!(refused, Err(Refused::OtherOrigin), "{origin}");
        }
        assert_eq!(
            asked(uri, &[HERE, ("origin", "http://127.0.0.1:8337")]),
            Ok(())
        );
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
