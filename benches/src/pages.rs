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

    /// Returns the most memory that the server has had at once, in bytes. Pages of the region that
    /// it has mapped are among it.
    pub fn most_memory(&self) -> Outcome<u64> {
        memory(self.program.pid(), "VmHWM:")
    }
}

/// Returns the memory of a process in bytes, as this line of its status in `/proc` says.
pub fn memory(pid: u32, line: &str) -> Outcome<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let mut lines = status.lines();
    let found = lines.find_map(|text| text.strip_prefix(line)?.trim().strip_suffix(" kB"));
    let kib: u64 = found.ok_or("the status has no such line")?.parse()?;
    Ok(kib * 1024)
}

/// Timeout for the first image of a page.
const FIRST: Duration = Duration::from_secs(120);

/// A number of pages that all show the same. Each has its own thread.
pub struct Pages {
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Outcome<()>>>,
    first: Samples,
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
    /// Number of frames with an image or a scene that all pages together received.
    pub frames: u64,
    /// Time from publish until the frame arrived, for each of these frames.
    pub latencies: Samples,
    /// Time from the request of each page until its first image or scene arrived. It is not among
    /// `latencies`.
    pub first: Samples,
}

impl Pages {
    /// Opens `count` pages with this view request, and waits until each has an image or a scene.
    pub fn open(site: &Site, count: usize, request: &Value) -> Outcome<Pages> {
        let (stop, shared) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Shared::default()),
        );
        let (mut threads, mut first) = (Vec::new(), Samples::default());
        for _ in 0..count {
            let mut page = Page::open(site, request)?;
            first.time(|| page.next(None))?;
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
            first,
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
            first: self.first,
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
    /// returns when nothing arrives within the timeout of the socket. Without `shared`, waits for a
    /// frame with an image or a scene.
    fn next(&mut self, shared: Option<&Shared>) -> Outcome<()> {
        let end = Instant::now() + FIRST;
        loop {
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => {
                    let shows = self.take(&bytes, shared)?;
                    if shows || shared.is_some() {
                        return Ok(());
                    }
                }
                Ok(Message::Text(text)) => {
                    if let Some(shared) = shared {
                        shared.bytes.fetch_add(text.len() as u64, Relaxed);
                    }
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(error.kind(), std::io::ErrorKind::WouldBlock) =>
                {
                    if shared.is_some() {
                        return Ok(());
                    }
                    if Instant::now() > end {
                        return Err("the first image did not come in time".into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Acknowledges a frame. Returns true if it has an image or a scene.
    fn take(&mut self, bytes: &[u8], shared: Option<&Shared>) -> Outcome<bool> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let length = u32::from_le_bytes(bytes[..4].try_into()?) as usize;
        let head: Value = serde_json::from_slice(&bytes[4..4 + length])?;
        if !head["error"].is_null() {
            return Err(format!("{}", head["error"]).into());
        }
        let shows = !head["image"].is_null() || !head["scene"].is_null();
        if let (Some(shared), Some(ms)) = (shared, head["published_ms"].as_f64()) {
            shared.bytes.fetch_add(bytes.len() as u64, Relaxed);
            if shows {
                shared.frames.fetch_add(1, Relaxed);
                let latency = now.as_secs_f64() * 1e9 - ms * 1e6;
                let latencies = shared.latencies.lock();
                latencies
                    .unwrap_or_else(PoisonError::into_inner)
                    .add_ns(latency);
            }
        }
        let got = json!({"type": "drawn", "frame": head["frame"]});
        self.socket.send(Message::text(got.to_string()))?;
        Ok(shows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_this_process_is_known_by_its_line() {
        let own = |line| memory(std::process::id(), line);
        let (now, most) = (own("VmRSS:").unwrap(), own("VmHWM:").unwrap());
        assert!(now > 1 << 19 && most > 1 << 19, "{now} of {most}");
        assert!(own("VmNothing:").is_err() && own("Name:").is_err());
    }
}
