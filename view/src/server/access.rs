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

/// How the cookie's name begins that stands for the token after the first request.
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
        let host = host(uri, headers);
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
        let tokens = match query_token(uri) {
            Some(token) => vec![token],
            None => cookies(headers, &cookie_name(host)),
        };
        // Two of one name can come: of another path, or from before.
        match tokens.iter().any(|token| equal(token, &self.token)) {
            true => Ok(()),
            false if tokens.is_empty() => Err(Refused::NoToken),
            false => Err(Refused::WrongToken),
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The host, and the port if it is not the usual one, as the browser knows this server: a tunnel may have changed both.
fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> &'r str {
    let named = uri.authority().map(|authority| authority.as_str());
    text(headers, &HOST).or(named).unwrap_or_default()
}

/// `localhost:8337` of `http://localhost:8337`.
fn authority(origin: &str) -> Option<&str> {
    origin.split_once("://").map(|(_, authority)| authority)
}

/// `localhost` and `8337` of `localhost:8337`.
fn name_and_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, port.parse().ok()),
        _ => (host, None),
    }
}

fn is_local(host: &str) -> bool {
    matches!(name_and_port(host).0, "localhost" | "127.0.0.1" | "[::1]")
}

/// The cookie of the server that a browser knows by this host. Browsers give a host's cookies to all of its ports: without the
/// port in the name, servers with different tokens would overwrite each other's.
fn cookie_name(host: &str) -> String {
    match name_and_port(host).1 {
        Some(port) => format!("{COOKIE_NAME}_{port}"),
        None => COOKIE_NAME.to_owned(),
    }
}

fn query_token(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("token="))
}

/// The values of all cookies of that name.
fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    let all = headers.get_all(COOKIE).iter();
    let pairs = all
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(';'));
    pairs
        .filter_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
        .collect()
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
    let name = cookie_name(host(request.uri(), request.headers()));
    let mut response = next.run(request).await;
    if by_address {
        let cookie = format!("{name}={}; HttpOnly; SameSite=Strict; Path=/", access.token);
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
        let cookie = ("cookie", "a=b; tcasm_view_8337=secret");
        assert_eq!(asked("/ws", &[HERE, cookie]), Ok(()));
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
        let others = "tcasm_view=secret; tcasm_view_83370=secret; xtcasm_view_8337=secret";
        assert_eq!(
            asked("/", &[HERE, ("cookie", others)]),
            Err(Refused::NoToken)
        );
        let wrong = ("cookie", "tcasm_view_8337=Secret");
        assert_eq!(asked("/", &[HERE, wrong]), Err(Refused::WrongToken));
    }

    #[test]
    fn servers_on_several_ports_of_a_host_do_not_disturb_each_other() {
        // A browser gives all of a host's cookies to each port.
        let all = "tcasm_view_8338=other; tcasm_view=third; tcasm_view_8337=secret";
        for (host, answer) in [
            ("127.0.0.1:8337", Ok(())),
            ("[::1]:8337", Ok(())),
            ("localhost:8338", Err(Refused::WrongToken)),
            ("localhost", Err(Refused::WrongToken)),
            ("[::1]", Err(Refused::WrongToken)),
            ("localhost:1", Err(Refused::NoToken)),
        ] {
            let headers = [("host", host), ("cookie", all)];
            assert_eq!(asked("/", &headers), answer, "{host}");
        }
    }

    #[test]
    fn of_cookies_of_the_same_name_one_that_is_right_suffices() {
        let twice = "tcasm_view_8337=old; tcasm_view_8337=secret";
        assert_eq!(asked("/", &[HERE, ("cookie", twice)]), Ok(()));
        let wrong = [HERE, ("cookie", "tcasm_view_8337=old; tcasm_view_8337=")];
        assert_eq!(asked("/", &wrong), Err(Refused::WrongToken));
    }

    #[test]
    fn the_cookie_is_named_after_the_port_and_nothing_else_of_the_host() {
        for (host, name) in [
            ("localhost:8337", "tcasm_view_8337"),
            ("localhost:08337", "tcasm_view_8337"),
            ("[::1]:80", "tcasm_view_80"),
            ("[::1]", "tcasm_view"),
            ("localhost", "tcasm_view"),
            ("localhost:", "tcasm_view"),
            ("localhost:99999", "tcasm_view"),
            ("localhost:1; Domain=evil.example", "tcasm_view"),
            ("", "tcasm_view"),
        ] {
            assert_eq!(cookie_name(host), name, "{host}");
        }
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
