//! Pages of the live view that draw nothing: what a browser takes, without the browser.

use serde_json::{Value, json};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use tungstenite::{Message, WebSocket};

use crate::programs::Program;
use crate::samples::Samples;

/// What goes wrong with pages.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A view that serves.
pub struct Site {
    program: Program,
    host: String,
    token: String,
}

impl Site {
    /// Start `tcasm view NAME`.
    pub fn start(name: &str) -> Outcome<Site> {
        let mut program = Program::start("tcasm", &["view", name, "--port", "0"])?;
        let address = program.hear(|line| {
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

    /// What to open in a browser.
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.host, self.token)
    }

    /// Processor time that it has taken.
    pub fn busy(&self) -> Outcome<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program.pid()))?;
        let (_, after) = stat.rsplit_once(')').ok_or("no such process")?;
        // User and system time are the fields 14 and 15; the third is the first after the name.
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

/// Some pages, each with a thread of its own, that all look at the same.
pub struct Pages {
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Outcome<()>>>,
}

#[derive(Default)]
struct Shared {
    bytes: AtomicU64,
    frames: AtomicU64,
    /// From publish to the frame being there.
    latencies: Mutex<Samples>,
}

/// What pages have taken.
pub struct Taken {
    /// Bytes of all.
    pub bytes: u64,
    /// Frames with an image, of all.
    pub frames: u64,
    /// From publish to the frame being there, for each of these.
    pub latencies: Samples,
}

impl Pages {
    /// Open `count` pages, and wait until each has a frame.
    pub fn open(site: &Site, count: usize, look: &Value) -> Outcome<Pages> {
        let (stop, shared) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Shared::default()),
        );
        let mut threads = Vec::new();
        for _ in 0..count {
            let mut page = Page::open(site, look)?;
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

    /// Close them; what they have taken since they were open.
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
    fn open(site: &Site, look: &Value) -> Outcome<Page> {
        let stream = TcpStream::connect(&site.host)?;
        // So that it is noticed when it shall stop, also where nothing comes.
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        stream.set_nodelay(true)?;
        let url = format!("ws://{}/ws?token={}", site.host, site.token);
        let (mut socket, _) = tungstenite::client(url, stream).map_err(|e| e.to_string())?;
        socket.send(Message::text(look.to_string()))?;
        Ok(Page { socket })
    }

    /// Take the next frame, and say so; without `shared` that with an image, whenever it comes.
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
        let got = json!({"type": "got", "frame": head["frame"]});
        Ok(self.socket.send(Message::text(got.to_string()))?)
    }
}
