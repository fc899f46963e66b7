//! Tests of requests that the server refuses: without the token, from other sites, or malformed.

use crate::page::{Site, name, producer};
use serde_json::json;
use std::io::Write;
use tungstenite::Message;

#[test]
fn regions_need_the_token_and_a_cookie_does_not_replace_it() {
    let site = Site::start(&name("token"));
    let wrong = format!("?token={}", "0".repeat(32));
    for path in [
        "/",
        "/assets/main.js",
        "/regions",
        "/colormaps",
        "/ws",
        "/x",
    ] {
        let (status, text) = site.get(&format!("{path}{wrong}"), "");
        assert_eq!(status, 403, "{path}: {text}");
        assert!(
            text.contains("token") && !text.contains(&site.token),
            "{text}"
        );
    }
    let cookie = format!(
        "Cookie: tcasm_view_{}={}\r\n",
        site.address.port(),
        site.token
    );
    for path in ["/regions", "/x", "/assets"] {
        for headers in ["", &cookie] {
            assert_eq!(site.get(path, headers).0, 403, "{path} {headers}");
        }
    }
    // The page and its files are the same for everybody.
    let module = "/assets/vendor/@noble/hashes/hmac.js";
    for path in ["/", "/assets/main.js", module, "/colormaps"] {
        let (status, text) = site.get(path, "");
        let text = text.to_lowercase();
        assert_eq!(status, 200, "{text}");
        assert!(
            text.contains("default-src 'self'") && !text.contains("set-cookie"),
            "{text}"
        );
        assert!(!text.contains(&site.token), "{path}");
    }
    assert_eq!(site.get(&format!("/regions{}", site.query()), "").0, 200);
    assert_eq!(site.try_open(&wrong, &[]).err(), Some(403));
    for query in ["", &site.query()] {
        let evil = site.try_open(query, &[("origin", "http://evil.example")]);
        assert_eq!(evil.err(), Some(403), "{query}");
    }
    let own = format!("http://{}", site.address);
    assert!(site.try_open(&site.query(), &[("origin", &own)]).is_ok());
    let outside = format!("{}&region=..%2Fx", site.query());
    assert_eq!(site.try_open(&outside, &[]).err(), Some(400));
}

#[test]
fn malformed_message_ends_only_the_connection_of_its_sender() {
    let name = name("nonsense");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [8]).add().unwrap();
    producer.view_mut(t).unwrap().fill(1.0);
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut witness = site.open();
    witness.request(json!({"field": "t"}));
    witness.next();

    let huge = format!(
        r#"{{"type":"view","id":1,"field":"{}"}}"#,
        "t".repeat(20_000)
    );
    for (message, why) in [
        (Message::text("hello"), "not a message"),
        (
            Message::text(r#"{"type":"view","id":1,"field":"t","histogram":100000}"#),
            "bins is 100000",
        ),
        (Message::binary(vec![1, 2, 3]), "binary"),
        (Message::text(huge), ""),
    ] {
        let mut page = site.open();
        page.socket.send(message).unwrap();
        let told = page.end();
        assert!(told.contains(why), "{told:?} instead of {why:?}");
    }
    // Bytes that are not a frame of a WebSocket.
    let mut page = site.open();
    page.socket.get_mut().write_all(&[0xff; 64]).unwrap();
    page.end();
    // The beginning of a text of 1 MiB. The server must not wait for the rest.
    let mut page = site.open();
    let mut long = vec![0x81, 0xff];
    long.extend((1_u64 << 20).to_be_bytes());
    long.extend([0; 64]);
    page.socket.get_mut().write_all(&long).unwrap();
    page.end();

    producer.view_mut(t).unwrap().fill(2.0);
    producer.publish(2, 0.0).unwrap();
    witness.until("the second version", |frame| frame.version() == 2);
    witness.until_region("no others are left", |region| region["clients"] == 1);
}
