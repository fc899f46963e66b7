//! A process that exports memory of a device, or opens that of others, with the driver without a
//! GPU.
//!
//! `cuda_ipc LEAVE_PINNED MOST`: the second word is the largest number of allocations of a peer, or
//! 0. It obeys commands, one per line, and answers `ok`, or `error` with the reason. Addresses and
//! descriptions are hexadecimal.
//!
//! - `alloc BYTES` and `free ADDRESS`; `fill ADDRESS BYTES VALUE`; `at ADDRESS` returns a byte.
//! - `export ADDRESS BYTES` returns a description.
//! - `open PEER DESCRIPTION` returns the number of the memory. `look NUMBER` returns its length,
//!   its first and last byte, and whether it is current. `write NUMBER VALUE` fills it.
//! - `release NUMBER`, `forget PEER`, and `end`, which drops the cache.
//! - `stats` returns hits, misses, evictions, invalidations, entries and unused ones.
//! - `fork` forks a child that uses and drops everything, and returns the error that it got.
//! - `register` registers host memory with the device.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::{CString, c_int, c_void};
use std::io::{BufRead, Read, Write};
use tcasm_registration::{
    Cuda, Exported, Exporter, IpcCache, IpcError, IpcMemory, Limits, Peer, RegistrationCache,
};

type Answer = Result<String, Box<dyn Error>>;

struct Process {
    exporter: Exporter,
    cache: Option<IpcCache>,
    held: BTreeMap<usize, IpcMemory>,
    next: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    tcasm_tests::child::die_with_parent();
    let arguments: Vec<String> = std::env::args().collect();
    let mut limits = match arguments[2].parse()? {
        0 => Limits::in_use(),
        most => Limits::in_use_at_most(most, usize::MAX),
    };
    limits.leave_pinned = arguments[1] == "true";
    let mut process = Process {
        exporter: Exporter::load(0)?,
        cache: Some(IpcCache::load(0, limits)?),
        held: BTreeMap::new(),
        next: 0,
    };
    println!("ok");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match process.obey(&words) {
            Ok(answer) => println!("ok {answer}"),
            Err(error) => println!("error {error}"),
        }
    }
    Ok(())
}

impl Process {
    fn obey(&mut self, words: &[&str]) -> Answer {
        match *words {
            ["alloc", bytes] => alloc(bytes.parse()?),
            ["free", at] => free(number(at)?),
            ["fill", at, bytes, value] => fill(number(at)?, bytes.parse()?, value.parse()?),
            ["at", at] => Ok(byte(number(at)?).to_string()),
            ["export", at, bytes] => {
                let exported = self.exporter.export(number(at)?, bytes.parse()?)?;
                Ok(hex(&exported.to_bytes()))
            }
            ["open", peer, text] => self.open(Peer(peer.parse()?), text),
            ["look", n] => self.look(n.parse()?),
            ["write", n, value] => {
                let memory = self.memory(n.parse()?)?;
                fill(memory.device_address(), memory.bytes(), value.parse()?)
            }
            ["release", n] => {
                let memory = self.held.remove(&n.parse()?);
                Ok(memory.map_or("nothing", |_| "released").into())
            }
            ["forget", peer] => {
                self.cache()?.forget(Peer(peer.parse()?));
                Ok(String::new())
            }
            ["end"] => Ok(self.cache.take().map_or("nothing", |_| "ended").into()),
            ["stats"] => self.stats(),
            ["fork", text] => self.fork(text),
            ["register"] => register(),
            _ => Err(format!("{words:?}").into()),
        }
    }

    fn cache(&self) -> Result<&IpcCache, Box<dyn Error>> {
        self.cache.as_ref().ok_or("the cache has ended".into())
    }

    fn memory(&self, n: usize) -> Result<&IpcMemory, Box<dyn Error>> {
        self.held.get(&n).ok_or("there is no such memory".into())
    }

    fn open(&mut self, peer: Peer, text: &str) -> Answer {
        let memory = self
            .cache()?
            .open(peer, &Exported::from_bytes(&bytes(text)?)?)?;
        self.held.insert(self.next, memory);
        self.next += 1;
        Ok((self.next - 1).to_string())
    }

    fn look(&self, n: usize) -> Answer {
        let memory = self.memory(n)?;
        let (at, len) = (memory.device_address(), memory.bytes());
        let (first, last) = (byte(at), byte(at + len as u64 - 1));
        Ok(format!("{len} {first} {last} {}", memory.is_current()))
    }

    fn stats(&self) -> Answer {
        let s = self.cache()?.stats();
        let numbers = [s.hits, s.misses, s.evicted, s.invalidated];
        let entries = [s.entries as u64, s.unused as u64];
        let texts: Vec<String> = numbers.iter().chain(&entries).map(u64::to_string).collect();
        Ok(texts.join(" "))
    }

    /// Lets a forked child do everything that calls the driver.
    fn fork(&mut self, text: &str) -> Answer {
        let exported = Exported::from_bytes(&bytes(text)?)?;
        let (mut answer, mut tell) = std::io::pipe()?;
        // SAFETY: this process has one thread. The child ends without handlers of the parent.
        match unsafe { nix::unistd::fork() }? {
            nix::unistd::ForkResult::Child => {
                let opened = self.cache.as_ref().map(|c| c.open(Peer(1), &exported));
                let refused = matches!(opened, Some(Err(IpcError::Forked)));
                let export = self.exporter.export(exported.address(), 1);
                let both = refused && matches!(export, Err(IpcError::Forked));
                self.held.clear();
                self.cache = None;
                let _ = write!(tell, "{both}");
                // SAFETY: nothing of the child is used afterwards.
                unsafe { libc::_exit(0) }
            }
            nix::unistd::ForkResult::Parent { child } => {
                drop(tell);
                let mut text = String::new();
                answer.read_to_string(&mut text)?;
                nix::sys::wait::waitpid(child, None)?;
                Ok(text)
            }
        }
    }
}

/// Registers a page of host memory with the device, and asks again.
fn register() -> Answer {
    let cache = RegistrationCache::builder(Cuda::load(0)?).build()?;
    let page = vec![0u8; 3 * 4096];
    let at = page.as_ptr() as usize;
    let first = cache.get(at, 4096)?;
    let moved = first.handle().device_address - first.range().start as u64;
    let again = cache.get(at, 4096)?;
    Ok(format!("{moved} {}", first.handle() == again.handle()))
}

fn number(text: &str) -> Result<u64, Box<dyn Error>> {
    Ok(u64::from_str_radix(text, 16)?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let pairs = (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16));
    Ok(pairs.collect::<Result<_, _>>()?)
}

fn byte(at: u64) -> u8 {
    // SAFETY: the memory of the device is memory of this process, and the tests pass addresses of
    // memory that is allocated or opened.
    unsafe { (at as *const u8).read_volatile() }
}

fn fill(at: u64, bytes: usize, value: u8) -> Answer {
    // SAFETY: as for reading. No reference to the memory exists.
    unsafe { (at as *mut u8).write_bytes(value, bytes) };
    Ok(String::new())
}

/// Returns a function of the driver.
///
/// # Safety
/// `F` must be the type of the function.
unsafe fn function<F: Copy>(name: &str) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let name = CString::new(name).expect("a name without zeros");
    // SAFETY: the names have zeros at their ends, and the caller vouches for the type.
    unsafe {
        let driver = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        let found = libc::dlsym(driver, name.as_ptr());
        assert!(!found.is_null(), "{name:?}");
        std::mem::transmute_copy(&found)
    }
}

/// Calls the driver with the context of the first device.
fn in_context(work: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: these are the types of the functions, which write to a variable that lives. The
    // context was retained, and never given back.
    unsafe {
        let retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int =
            function("cuDevicePrimaryCtxRetain");
        let push: unsafe extern "C" fn(*mut c_void) -> c_int = function("cuCtxPushCurrent_v2");
        let pop: unsafe extern "C" fn(*mut *mut c_void) -> c_int = function("cuCtxPopCurrent_v2");
        let mut context = std::ptr::null_mut();
        // The caller has loaded the driver and called `cuInit`.
        assert_eq!((retain(&raw mut context, 0), push(context)), (0, 0));
        let result = work();
        pop(&raw mut context);
        result
    }
}

fn alloc(bytes: usize) -> Answer {
    let mut at = 0u64;
    // SAFETY: this is the type of the function, which writes to a variable that lives.
    let code = in_context(|| unsafe {
        let alloc: unsafe extern "C" fn(*mut u64, usize) -> c_int = function("cuMemAlloc_v2");
        alloc(&raw mut at, bytes)
    });
    match code {
        0 => Ok(format!("{at:x}")),
        code => Err(format!("cuMemAlloc: {code}").into()),
    }
}

fn free(at: u64) -> Answer {
    // SAFETY: this is the type of the function, and the tests use the memory no more.
    let code = in_context(|| unsafe {
        let free: unsafe extern "C" fn(u64) -> c_int = function("cuMemFree_v2");
        free(at)
    });
    match code {
        0 => Ok(String::new()),
        code => Err(format!("cuMemFree: {code}").into()),
    }
}
