//! Code that the tests share: a server in this process, producers, and a page that speaks the
//! protocol.

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
use tcasm_view::server::{Endpoint, Server, Settings, Timeouts};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Error, Message, WebSocket};

/// Timeout that only a test that hangs reaches.
pub const LONG: Duration = Duration::from_secs(60);
/// The error when no message comes, though the connection is open.
const STILL: &str = "the server has not closed the connection";
/// The secret of the user who runs these servers.
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Starts a producer that keeps its last 60 versions.
pub fn producer(name: &str) -> Producer {
    let builder = Producer::builder(name).capacity(1 << 22).memory(1 << 28);
    builder.versions(64).history(60).create().unwrap()
}

/// A server that runs. It ends when this value is dropped.
pub struct Site {
    pub address: std::net::SocketAddr,
    pub token: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    pub fn start(name: &str) -> Site {
        Site::with_timeouts(name, Timeouts::default())
    }

    /// Starts a server with these timeouts.
    pub fn with_timeouts(name: &str, timeouts: Timeouts) -> Site {
        Site::at(name, timeouts, 0)
    }

    /// Starts a server at this port.
    pub fn at(name: &str, timeouts: Timeouts, port: u16) -> Site {
        let server = server(
            name,
            timeouts,
            Endpoint::Port {
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

    /// Opens a WebSocket with these headers. Returns the HTTP status if it is refused.
    pub fn try_open(&self, query: &str, headers: &[(&'static str, &str)]) -> Result<Page, u16> {
        match self.connect(query, headers) {
            Ok(socket) => Ok(Page::new(socket)),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Opens a WebSocket, and sends nothing over it.
    pub fn connect(
        &self,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<WebSocket<TcpStream>, Error> {
        self.connect_to(&format!("/ws{query}"), headers)
    }

    /// Opens a WebSocket at this path.
    pub fn connect_to(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<WebSocket<TcpStream>, Error> {
        let url = format!("ws://{}{path}", self.address);
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

    /// Returns the query of a program's request, with the token.
    pub fn query(&self) -> String {
        format!("?token={}", self.token)
    }

    /// Sends an HTTP request. Returns the status and the whole answer.
    pub fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let stream = TcpStream::connect(self.address).unwrap();
        get(stream, &self.address.to_string(), path, headers)
    }
}

/// Returns a server that listens and does not run yet.
pub fn server(name: &str, timeouts: Timeouts, endpoint: Endpoint) -> Server {
    Server::bind(Settings {
        name: name.to_owned(),
        mirrored: name.to_owned(),
        endpoint,
        secret: SECRET.to_owned(),
        options: Options::default(),
        timeouts,
    })
    .unwrap()
}

/// Runs a server in a thread. Returns the flag that stops it, and the thread.
pub fn run(server: Server) -> (Arc<AtomicBool>, JoinHandle<()>) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let run = move || server.run(|| stopped.load(Ordering::Relaxed));
    (stop, std::thread::spawn(run))
}

/// Sends an HTTP request over a connection. Returns the status and the whole answer.
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
    /// The messages `region` that came.
    pub regions: Vec<Value>,
    /// The messages `series` that came.
    pub series: Vec<Value>,
    /// The messages `regions` that came.
    pub lists: Vec<Value>,
    /// The samples of the image and of the image to compare with, put together from tiles.
    pub image: Vec<f32>,
    pub compare: Vec<f32>,
    id: u64,
}

/// A frame that came: its head and its arrays.
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

    /// Sends a view request. Returns its id.
    pub fn request(&mut self, mut request: Value) -> u64 {
        self.id += 1;
        request["type"] = json!("view");
        request["id"] = json!(self.id);
        self.send(&request.to_string());
        self.id
    }

    pub fn send(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// Waits for the next frame, without confirming it. Returns the reason if the connection ends.
    pub fn receive(&mut self) -> Result<Frame, String> {
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
                // Pings come even if nothing else does.
                Ok(_) if Instant::now() < end => {}
                Ok(_) => return Err(STILL.to_owned()),
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(STILL.to_owned());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Waits for the end of the connection. Returns the reason. The server must have closed it.
    pub fn end(&mut self) -> String {
        loop {
            if let Err(why) = self.receive() {
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

    /// Waits for the next frame and confirms it.
    pub fn next(&mut self) -> Frame {
        let frame = self.receive().unwrap();
        self.send(&json!({"type": "drawn", "frame": frame.head["frame"]}).to_string());
        frame
    }

    /// Waits for the first frame that meets a condition. Confirms all frames.
    pub fn until(&mut self, what: &str, is_so: impl Fn(&Frame) -> bool) -> Frame {
        let end = Instant::now() + LONG;
        loop {
            let frame = self.next();
            if is_so(&frame) {
                return frame;
            }
            assert!(Instant::now() < end, "never came: {what}");
        }
    }

    /// Waits until the newest message `region` meets a condition. Confirms frames meanwhile.
    pub fn until_region(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LONG;
        loop {
            if let Some(region) = self.regions.last()
                && is_so(region)
            {
                return region.clone();
            }
            let last = self.regions.last();
            assert!(Instant::now() < end, "never came: {what}; {last:?}");
            self.regions.clear();
            self.listen();
        }
    }

    /// Waits for the first message `region` that meets a condition, also among those that came
    /// before. Use it for a state that may change soon.
    pub fn until_told(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LONG;
        loop {
            if let Some(region) = self.regions.iter().find(|region| is_so(region)) {
                return region.clone();
            }
            let last = self.regions.last();
            assert!(Instant::now() < end, "never came: {what}; {last:?}");
            self.listen();
        }
    }

    /// Waits for the next message `regions`.
    pub fn until_list(&mut self) -> Value {
        let end = Instant::now() + LONG;
        loop {
            if let Some(list) = self.lists.pop() {
                return list;
            }
            assert!(Instant::now() < end, "never came: a list of regions");
            self.listen();
        }
    }

    /// Receives messages for at most 0.1 seconds, and at most one frame. Confirms the frame.
    fn listen(&mut self) {
        let step = Some(Duration::from_millis(100));
        self.socket.get_mut().set_read_timeout(step).unwrap();
        let received = self.receive();
        self.socket.get_mut().set_read_timeout(Some(LONG)).unwrap();
        if let Ok(frame) = received {
            self.send(&json!({"type": "drawn", "frame": frame.head["frame"]}).to_string());
        }
    }
}

impl Frame {
    pub fn version(&self) -> u64 {
        self.head["version"]["version"].as_u64().unwrap()
    }

    /// Returns the 64-bit floats of the line.
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

    /// Returns the bytes of a part.
    pub fn bytes(&self, part: &str, length: usize) -> &[u8] {
        let at = self.head[part]["at"].as_u64().unwrap() as usize;
        &self.body[at..at + length]
    }
}

/// Puts the tiles of a frame into an image.
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
