//! Pages of the live view that draw nothing. They receive what a browser would receive.

use serde_json::{Value, json};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use tungstenite::{Message, WebSocket};

use crate::programs::Program;
use crate::samples::Samples;

/// Result of an operation on pages. Its error can be sent between threads.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A running server of the live view.
pub struct Site {
    program: Program,
    host: String,
    token: String,
}

impl Site {
    /// Starts `tcasm view NAME`.
    pub fn start(name: &str) -> Outcome<Site> {
        let mut program = Program::start("tcasm", &["view", name, "--port", "0"])?;
        let address = program.wait_for(|line| {
            let address = line.trim().strip_prefix("http://")?;
            let (host, token) = address.split_once("/#token=")?;
            Some((host.to_owned(), token.to_owned()))
        });
        let (host, token) = address.ok_or("tcasm view has printed no address")?;
        Ok(Site {
            program,
            host,
            token,
        })
    }

    /// Returns the address to open in a browser.
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.host, self.token)
    }

    /// Returns the processor time that the server has used.
    pub fn busy(&self) -> Outcome<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program.pid()))?;
        let (_, after) = stat.rsplit_once(')').ok_or("no such process")?;
        // User and system time are fields 14 and 15. The first field after the name is field 3.
        let ticks: u64 = after
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|n| n.parse::<u64>().ok())
            .sum();
        let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?.unwrap_or(100);
        Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64))
    }
}

/// A number of pages that all show the same. Each has its own thread.
pub struct Pages {
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Outcome<()>>>,
}

#[derive(Default)]
struct Shared {
    bytes: AtomicU64,
    frames: AtomicU64,
    /// Times from publish until the frame arrived.
    latencies: Mutex<Samples>,
}

/// The frames that a number of pages received.
pub struct Taken {
    /// Bytes that all pages together received.
    pub bytes: u64,
    /// Number of frames with an image that all pages together received.
    pub frames: u64,
    /// Time from publish until the frame arrived, for each of these frames.
    pub latencies: Samples,
}

impl Pages {
    /// Opens `count` pages with this view request, and waits until each has a frame.
    pub fn open(site: &Site, count: usize, request: &Value) -> Outcome<Pages> {
        let (stop, shared) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Shared::default()),
        );
        let mut threads = Vec::new();
        for _ in 0..count {
            let mut page = Page::open(site, request)?;
            page.next(None)?;
            let (stop, shared) = (stop.clone(), shared.clone());
            threads.push(std::thread::spawn(move || {
                tcasm_core::sys::thread::set_background();
                while !stop.load(Relaxed) {
                    page.next(Some(&shared))?;
                }
                Ok(())
            }));
        }
        Ok(Pages {
            stop,
            shared,
            threads,
        })
    }

    /// Closes the pages. Returns what they received since they were opened.
    pub fn close(self) -> Outcome<Taken> {
        self.stop.store(true, Relaxed);
        for thread in self.threads {
            thread.join().map_err(|_| "a page has panicked")??;
        }
        let latencies = self.shared.latencies.lock();
        Ok(Taken {
            bytes: self.shared.bytes.load(Relaxed),
            frames: self.shared.frames.load(Relaxed),
            latencies: latencies.unwrap_or_else(PoisonError::into_inner).clone(),
        })
    }
}

struct Page {
    socket: WebSocket<TcpStream>,
}

impl Page {
    fn open(site: &Site, request: &Value) -> Outcome<Page> {
        let stream = TcpStream::connect(&site.host)?;
        // With a timeout, the thread notices that it must stop even if nothing arrives.
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        stream.set_nodelay(true)?;
        let url = format!("ws://{}/ws?token={}", site.host, site.token);
        let (mut socket, _) = tungstenite::client(url, stream).map_err(|e| e.to_string())?;
        socket.send(Message::text(request.to_string()))?;
        Ok(Page { socket })
    }

    /// Receives the next frame and acknowledges it. With `shared`, adds it to the results, and
    /// returns when nothing arrives within the timeout of the socket. Without `shared`, waits up to
    /// 30 seconds for the frame.
    fn next(&mut self, shared: Option<&Shared>) -> Outcome<()> {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => return self.take(&bytes, shared),
                Ok(Message::Text(text)) => {
                    if let Some(shared) = shared {
                        shared.bytes.fetch_add(text.len() as u64, Relaxed);
                    }
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(error.kind(), std::io::ErrorKind::WouldBlock) =>
                {
                    if shared.is_some() || Instant::now() > end {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take(&mut self, bytes: &[u8], shared: Option<&Shared>) -> Outcome<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let length = u32::from_le_bytes(bytes[..4].try_into()?) as usize;
        let head: Value = serde_json::from_slice(&bytes[4..4 + length])?;
        if !head["error"].is_null() {
            return Err(format!("{}", head["error"]).into());
        }
        if let (Some(shared), Some(ms)) = (shared, head["published_ms"].as_f64()) {
            shared.bytes.fetch_add(bytes.len() as u64, Relaxed);
            if !head["image"].is_null() {
                shared.frames.fetch_add(1, Relaxed);
                let latency = now.as_secs_f64() * 1e9 - ms * 1e6;
                let latencies = shared.latencies.lock();
                latencies
                    .unwrap_or_else(PoisonError::into_inner)
                    .add_ns(latency);
            }
        }
        let got = json!({"type": "drawn", "frame": head["frame"]});
        Ok(self.socket.send(Message::text(got.to_string()))?)
    }
}
