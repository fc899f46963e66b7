//! Who does not know the token, comes from elsewhere, or talks nonsense is refused.

use crate::page::{Site, TOKEN, name, producer};
use serde_json::json;
use std::io::Write;
use tungstenite::Message;

#[test]
fn without_the_token_neither_http_nor_a_websocket_opens() {
    let site = Site::start(&name("token"));
    let token = format!("?token={TOKEN}");
    let wrong = "?token=0123456789abcdef0123456789abcdeF";
    for path in [
        "/",
        "/assets/index.html",
        "/regions",
        "/colormaps",
        "/ws",
        "/nothing",
    ] {
        for query in ["", wrong] {
            let (status, text) = site.get(&format!("{path}{query}"), "");
            assert_eq!(status, 403, "{path}{query}: {text}");
            assert!(text.contains("token") && !text.contains(TOKEN), "{text}");
        }
    }
    assert_eq!(site.try_open("", &[]).err(), Some(403));
    assert_eq!(site.try_open(wrong, &[]).err(), Some(403));
    assert_eq!(
        site.try_open(&token, &[("origin", "http://evil.example")])
            .err(),
        Some(403)
    );
    let others = [
        format!("tcasm_view_{}=wrong", site.address.port()),
        format!("tcasm_view={TOKEN}; tcasm_view_1={TOKEN}"),
    ];
    for cookie in others {
        let refused = site.try_open("", &[("cookie", &cookie)]).err();
        assert_eq!(refused, Some(403), "{cookie}");
    }

    let (status, text) = site.get(&format!("/{token}"), "");
    assert_eq!(status, 200, "{text}");
    let text = text.to_lowercase();
    assert!(
        text.contains("httponly; samesite=strict") && text.contains("default-src 'self'"),
        "{text}"
    );
    let cookie = site.cookie();
    assert!(text.contains(&format!("set-cookie: {cookie};")), "{text}");
    assert_eq!(
        site.get("/regions", &format!("Cookie: {cookie}\r\n")).0,
        200
    );
    assert!(site.try_open("", &[("cookie", &cookie)]).is_ok());
    let own = format!("http://{}", site.address);
    assert!(site.try_open(&token, &[("origin", &own)]).is_ok());
    assert_eq!(
        site.try_open(&format!("{token}&region=..%2Fx"), &[]).err(),
        Some(400)
    );
}

#[test]
fn nonsense_ends_the_connection_of_who_says_it_and_no_other() {
    let name = name("nonsense");
    let mut producer = producer(&name);
    let t = producer.field::<f64, _>("t", [8]).add().unwrap();
    producer.view_mut(t).unwrap().fill(1.0);
    producer.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut witness = site.open();
    witness.look(json!({"field": "t"}));
    witness.next();

    let huge = format!(
        r#"{{"type":"look","id":1,"field":"{}"}}"#,
        "t".repeat(20_000)
    );
    for (message, why) in [
        (Message::text("hello"), "not a message"),
        (
            Message::text(r#"{"type":"look","id":1,"field":"t","histogram":100000}"#),
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
    // Bytes that are no frame of a WebSocket at all.
    let mut page = site.open();
    page.socket.get_mut().write_all(&[0xff; 64]).unwrap();
    page.end();
    // The beginning of a text of a MiB, which is not waited for.
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
