//! What the tests share: a server in this process, producers, and a page that speaks its protocol.

use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tcasm_producer::Producer;
pub use tcasm_tests::name;
use tcasm_view::Options;
use tcasm_view::server::{Patience, Place, Server, Settings};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Error, Message, WebSocket};

/// Far more than anything here takes: only what hangs reaches it.
pub const LONG: Duration = Duration::from_secs(60);
/// Nothing comes, and the server is there.
const STILL: &str = "the server has not let go";
/// The secret of the user whose servers these are.
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A producer that keeps its last 60 versions.
pub fn producer(name: &str) -> Producer {
    let builder = Producer::builder(name).capacity(1 << 22).memory(1 << 28);
    builder.versions(64).history(60).create().unwrap()
}

/// A server. Dropped, it ends.
pub struct Site {
    pub address: std::net::SocketAddr,
    pub token: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    pub fn start(name: &str) -> Site {
        Site::patient(name, Patience::default())
    }

    /// A server that waits for pages as long as this.
    pub fn patient(name: &str, patience: Patience) -> Site {
        Site::at(name, patience, 0)
    }

    /// A server at this port.
    pub fn at(name: &str, patience: Patience, port: u16) -> Site {
        let server = server(
            name,
            patience,
            Place::Port {
                address: [127, 0, 0, 1].into(),
                port: Some(port),
            },
        );
        let (address, token) = (server.address().unwrap(), server.token().to_owned());
        let (stop, thread) = run(server);
        Site {
            address,
            token,
            stop,
            thread: Some(thread),
        }
    }

    /// Open a WebSocket with these headers; the status if it is refused.
    pub fn try_open(&self, query: &str, headers: &[(&'static str, &str)]) -> Result<Page, u16> {
        match self.connect(query, headers) {
            Ok(socket) => Ok(Page::new(socket)),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Open a WebSocket; nothing is said there yet.
    pub fn connect(
        &self,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<WebSocket<TcpStream>, Error> {
        let url = format!("ws://{}/ws{query}", self.address);
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
            Err(error) => panic!("{error}"),
        }
    }

    pub fn open(&self) -> Page {
        self.try_open(&self.query(), &[]).unwrap()
    }

    /// What a program asks with.
    pub fn query(&self) -> String {
        format!("?token={}", self.token)
    }

    /// Ask by HTTP: the status and all that came.
    pub fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let stream = TcpStream::connect(self.address).unwrap();
        get(stream, &self.address.to_string(), path, headers)
    }
}

/// A server that does not run yet.
pub fn server(name: &str, patience: Patience, place: Place) -> Server {
    Server::bind(Settings {
        name: name.to_owned(),
        place,
        secret: SECRET.to_owned(),
        options: Options::default(),
        patience,
    })
    .unwrap()
}

/// Run it until the first of these is true.
pub fn run(server: Server) -> (Arc<AtomicBool>, JoinHandle<()>) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let run = move || server.run(|| stopped.load(Ordering::Relaxed));
    (stop, std::thread::spawn(run))
}

/// Ask by HTTP over a connection: the status and all that came.
pub fn get(mut stream: impl Read + Write, host: &str, path: &str, more: &str) -> (u16, String) {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer[9..12].parse().unwrap(), answer)
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A page.
pub struct Page {
    pub socket: WebSocket<TcpStream>,
    /// The regions and series that came.
    pub regions: Vec<Value>,
    pub series: Vec<Value>,
    /// The lists of regions that came.
    pub lists: Vec<Value>,
    /// The samples of the image and of the one to compare with, put together from tiles.
    pub image: Vec<f32>,
    pub compare: Vec<f32>,
    id: u64,
}

/// A frame as it came.
#[derive(Clone, Debug)]
pub struct Frame {
    pub head: Value,
    pub body: Vec<u8>,
}

impl Page {
    pub fn new(socket: WebSocket<TcpStream>) -> Page {
        Page {
            socket,
            regions: Vec::new(),
            series: Vec::new(),
            lists: Vec::new(),
            image: Vec::new(),
            compare: Vec::new(),
            id: 0,
        }
    }

    /// Say what is looked at; the number of the look.
    pub fn look(&mut self, mut look: Value) -> u64 {
        self.id += 1;
        look["type"] = json!("look");
        look["id"] = json!(self.id);
        self.say(&look.to_string());
        self.id
    }

    pub fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// What comes next: a frame (which is not got yet), or why nothing comes any more.
    pub fn hear(&mut self) -> Result<Frame, String> {
        let end = Instant::now() + LONG;
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    let told: Value = serde_json::from_str(&text).unwrap();
                    match told["type"].as_str() {
                        Some("region") => self.regions.push(told),
                        Some("series") => self.series.push(told),
                        Some("regions") => self.lists.push(told),
                        other => panic!("{other:?}"),
                    }
                }
                Ok(Message::Binary(bytes)) => return Ok(self.frame(&bytes)),
                Ok(Message::Close(why)) => {
                    return Err(why.map_or(String::new(), |why| why.reason.to_string()));
                }
                // Pings come even where nothing else does.
                Ok(_) if Instant::now() < end => {}
                Ok(_) => return Err(STILL.to_owned()),
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(STILL.to_owned());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Why nothing comes any more. The server must have let go.
    pub fn end(&mut self) -> String {
        loop {
            if let Err(why) = self.hear() {
                assert_ne!(why, STILL);
                return why;
            }
        }
    }

    fn frame(&mut self, bytes: &[u8]) -> Frame {
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        assert_eq!((4 + length) % 8, 0, "arrays are aligned");
        let frame = Frame {
            head: serde_json::from_slice(&bytes[4..4 + length]).unwrap(),
            body: bytes[4 + length..].to_vec(),
        };
        paint(&mut self.image, &frame.head["image"], &frame.body);
        paint(&mut self.compare, &frame.head["compare"], &frame.body);
        frame
    }

    /// The next frame, which is got.
    pub fn next(&mut self) -> Frame {
        let frame = self.hear().unwrap();
        self.say(&json!({"type": "got", "frame": frame.head["frame"]}).to_string());
        frame
    }

    /// The first frame from now on that is so.
    pub fn until(&mut self, what: &str, is_so: impl Fn(&Frame) -> bool) -> Frame {
        let end = Instant::now() + LONG;
        loop {
            let frame = self.next();
            if is_so(&frame) {
                return frame;
            }
            assert!(Instant::now() < end, "never: {what}");
        }
    }

    /// Hear until the newest region is so. (Frames that come meanwhile are got.)
    pub fn until_region(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LONG;
        loop {
            if let Some(region) = self.regions.last()
                && is_so(region)
            {
                return region.clone();
            }
            let last = self.regions.last();
            assert!(Instant::now() < end, "never: {what}; {last:?}");
            self.regions.clear();
            self.listen();
        }
    }

    /// The first region that is so, of those that came and come: it may soon be another.
    pub fn until_told(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LONG;
        loop {
            if let Some(region) = self.regions.iter().find(|region| is_so(region)) {
                return region.clone();
            }
            let last = self.regions.last();
            assert!(Instant::now() < end, "never: {what}; {last:?}");
            self.listen();
        }
    }

    /// The next list of regions.
    pub fn until_list(&mut self) -> Value {
        let end = Instant::now() + LONG;
        loop {
            if let Some(list) = self.lists.pop() {
                return list;
            }
            assert!(Instant::now() < end, "never: a list of regions");
            self.listen();
        }
    }

    /// Hear for a moment.
    fn listen(&mut self) {
        let step = Some(Duration::from_millis(100));
        self.socket.get_mut().set_read_timeout(step).unwrap();
        let heard = self.hear();
        self.socket.get_mut().set_read_timeout(Some(LONG)).unwrap();
        if let Ok(frame) = heard {
            self.say(&json!({"type": "got", "frame": frame.head["frame"]}).to_string());
        }
    }
}

impl Frame {
    pub fn version(&self) -> u64 {
        self.head["version"]["version"].as_u64().unwrap()
    }

    /// The 64-bit floats of the line.
    pub fn line(&self) -> Vec<f64> {
        let (at, length) = (&self.head["line"]["at"], &self.head["line"]["length"]);
        let (at, length) = (
            at.as_u64().unwrap() as usize,
            length.as_u64().unwrap() as usize,
        );
        let bytes = self.body[at..at + 8 * length].chunks_exact(8);
        bytes
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect()
    }

    /// The bytes of a part.
    pub fn bytes(&self, part: &str, length: usize) -> &[u8] {
        let at = self.head[part]["at"].as_u64().unwrap() as usize;
        &self.body[at..at + length]
    }
}

/// Put the tiles of a frame into an image.
fn paint(samples: &mut Vec<f32>, image: &Value, body: &[u8]) {
    if image["tiles"].is_null() {
        return;
    }
    let number = |name: &str| image[name].as_u64().unwrap() as usize;
    let (rows, cols, tile) = (number("rows"), number("cols"), number("tile"));
    if samples.len() != rows * cols {
        *samples = vec![f32::INFINITY; rows * cols];
    }
    let mut at = number("at");
    for place in numbers(&image["tiles"]) {
        let (down, across) = (place / cols.div_ceil(tile), place % cols.div_ceil(tile));
        for row in down * tile..((down + 1) * tile).min(rows) {
            for col in across * tile..((across + 1) * tile).min(cols) {
                let sample = body[at..at + 4].try_into().unwrap();
                samples[row * cols + col] = f32::from_le_bytes(sample);
                at += 4;
            }
        }
    }
}

pub fn numbers(value: &Value) -> Vec<usize> {
    let numbers = value.as_array().unwrap().iter();
    numbers
        .map(|number| number.as_u64().unwrap() as usize)
        .collect()
}
