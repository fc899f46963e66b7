//! The options of a host buffer: its sections, and how the hosts of a job agree.

use crate::border::{Count, Hook, List, Out, Text};
use crate::call::call;
use crate::handles::{Handle, give, object};
use crate::host_buffers::{HostBuffer, section};
use crate::status::{Failure, TCASM_NOT_FOUND};
use crate::waiting::seconds;
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::time::Instant;
use tcasm_hostbuffer::tcp::{Rendezvous, Secret};
use tcasm_hostbuffer::{
    AgreementError, AllGather, Collective, HostBufferBuilder, Local, Placement, Section,
};

/// A function that gives `bytes` bytes at `mine` to all hosts, and stores those of all hosts, one
/// after another and in the same order everywhere, at `all`. It returns 0, or anything else if that
/// fails or takes more than `timeout` seconds: then it is not called again, and the library keeps
/// the memory at both addresses for ever, because an operation that has not ended may still use it.
/// It is called by the thread that creates the buffer, and must return: no exception, no longjmp.
pub type tcasm_all_gather = Option<
    extern "C" fn(
        context: *mut c_void,
        mine: *const c_void,
        all: *mut c_void,
        bytes: usize,
        timeout: f64,
    ) -> c_int,
>;

/// The longest message of a host.
const LONGEST: usize = 64 << 10;
/// The most hosts that a function of C connects.
const MOST_HOSTS: u32 = 1 << 14;

/// The options of a host buffer that is not created yet.
#[derive(Default)]
pub struct HostBufferOptions(Mutex<Settings>);
object!(HostBufferOptions, "host buffer options", 23);

#[derive(Clone, Default)]
struct Settings {
    sections: Vec<(String, Section)>,
    processes: Option<usize>,
    address: Option<usize>,
    hosts: Hosts,
}

/// How the hosts agree.
#[derive(Clone, Default)]
enum Hosts {
    #[default]
    Alone,
    Rendezvous(String, Secret),
    Function(Function, Local),
}

/// Makes options without a section. `tcasm_host_buffer_options_free` ends them.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_new(options: Out<Handle<HostBufferOptions>>) -> c_int {
    call(|| give(&options, || Ok(HostBufferOptions::default())))
}

/// Ends options. Buffers that were created with them stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_free(options: Handle<HostBufferOptions>) -> c_int {
    call(|| options.remove().map(drop))
}

/// Adds a section of `bytes` bytes. `flags` has `TCASM_SECTION_LOCKED` and the like, added up.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_add(
    options: Handle<HostBufferOptions>,
    name: Text,
    bytes: usize,
    flags: u32,
) -> c_int {
    call(|| {
        let name = name.get("the name of the section")?;
        let added = section(name, bytes, flags)?;
        let options = options.get()?;
        options.0.lock().sections.push((name.to_owned(), added));
        Ok(())
    })
}

/// Adds a section for the regions of `ranks` ranks (`tcasm_options_set_part`), each with at most
/// `bytes` bytes of fields.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_add_regions(
    options: Handle<HostBufferOptions>,
    name: Text,
    ranks: u32,
    bytes: usize,
) -> c_int {
    call(|| {
        let name = name.get("the name of the section")?;
        let added = Section::regions(name, ranks, bytes);
        let options = options.get()?;
        options.0.lock().sections.push((name.to_owned(), added));
        Ok(())
    })
}

/// Places a section on nodes of memory (NUMA): on one, or on several in turn. Without this, a page
/// lies where it is touched first.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_set_nodes(
    options: Handle<HostBufferOptions>,
    name: Text,
    nodes: List<u32>,
    count: Count,
) -> c_int {
    call(|| {
        let name = name.get("the name of the section")?;
        let placement = match nodes.get(&count, "the list of nodes")? {
            [node] => Placement::Node(*node),
            nodes => Placement::Interleave(nodes.to_vec()),
        };
        let options = options.get()?;
        let mut settings = options.0.lock();
        let mut sections = settings.sections.iter_mut();
        let found = sections.find(|(known, _)| known == name);
        let (_, section) = found.ok_or_else(|| {
            let text = format!("there is no section {name:?}; add it first");
            Failure::new(TCASM_NOT_FOUND, text)
        })?;
        *section = section.clone().placement(placement);
        Ok(())
    })
}

/// Lets `count` processes of this host take part: all of them get the buffer, or none does.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_set_processes(
    options: Handle<HostBufferOptions>,
    count: usize,
) -> c_int {
    call(|| {
        options.get()?.0.lock().processes = Some(count);
        Ok(())
    })
}

/// Accepts this address only, a multiple of 2 MiB. Without this, it follows from the name of the
/// job.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_set_address(
    options: Handle<HostBufferOptions>,
    address: usize,
) -> c_int {
    call(|| {
        options.get()?.0.lock().address = Some(address);
        Ok(())
    })
}

/// Agrees with the other hosts of the job through a rendezvous (`tcasm hostbuffer serve`) at
/// `address`, such as `login1:4711`. The file `secret` is the one that the rendezvous has; other
/// users must not be able to read it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_set_rendezvous(
    options: Handle<HostBufferOptions>,
    address: Text,
    secret: Text,
) -> c_int {
    call(|| {
        let address = address.get("the address of the rendezvous")?.to_owned();
        let path = secret.get("the file of the secret")?;
        let failed = |error| Failure::argument(format!("the secret in {path:?}: {error}"));
        let secret = Secret::read(Path::new(path)).map_err(failed)?;
        options.get()?.0.lock().hosts = Hosts::Rendezvous(address, secret);
        Ok(())
    })
}

/// Agrees with the other hosts of the job by a function of the program, such as an operation of
/// MPI (`tcasm_mpi.h`). There are `hosts` hosts. `processes` processes of this one take part, and
/// with `leads` = 1 this process is the one of them that calls the function. `context` is passed to
/// it, and must be valid until the buffer is created.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_options_set_all_gather(
    options: Handle<HostBufferOptions>,
    function: tcasm_all_gather,
    context: *mut c_void,
    hosts: u32,
    processes: usize,
    leads: c_int,
) -> c_int {
    call(|| {
        let function = function.ok_or_else(|| Failure::argument("the function is null"))?;
        if !(1..=MOST_HOSTS).contains(&hosts) || processes == 0 {
            let text = format!(
                "{hosts} hosts, {processes} processes of this one: 1 to {MOST_HOSTS} hosts with at \
                 least one process can agree"
            );
            return Err(Failure::argument(text));
        }
        let leads = crate::constants::flag(leads.into(), "leads")?;
        let hook = Hook::new(function, context);
        let function = Function { hook, hosts };
        let local = Local { processes, leads };
        options.get()?.0.lock().hosts = Hosts::Function(function, local);
        Ok(())
    })
}

/// Creates the host buffer of `job` with these options, or attaches to it: at the same address in
/// all processes of all its hosts. Waits for them for up to `timeout` seconds.
/// `tcasm_host_buffer_close` ends it here.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_host_buffer_create(
    job: Text,
    options: Handle<HostBufferOptions>,
    timeout: f64,
    buffer: Out<Handle<HostBuffer>>,
) -> c_int {
    call(|| {
        let job = job.get("the name of the job")?;
        let settings = options.get()?.0.lock().clone();
        let builder = builder(job, settings).timeout(seconds(timeout)?);
        give(&buffer, || Ok(HostBuffer::new(builder.create_or_attach()?)))
    })
}

fn builder(job: &str, settings: Settings) -> HostBufferBuilder {
    let mut builder = tcasm_hostbuffer::HostBuffer::builder(job);
    for (_, section) in settings.sections {
        builder = builder.section(section);
    }
    if let Some(processes) = settings.processes {
        builder = builder.processes(processes);
    }
    if let Some(address) = settings.address {
        builder = builder.address(address);
    }
    match settings.hosts {
        Hosts::Alone => builder,
        Hosts::Rendezvous(address, secret) => {
            builder.agreement(Rendezvous::new(&address, job, secret))
        }
        Hosts::Function(function, local) => {
            builder.agreement(Collective::new(function, Some(local)))
        }
    }
}

/// A function of C that connects the hosts.
#[derive(Clone, Debug)]
struct Function {
    hook: Hook,
    hosts: u32,
}

impl Function {
    /// Gives `mine` to all hosts, and returns what they give, which is as long.
    fn all(&self, mine: Vec<u8>, until: Instant) -> Result<Vec<u8>, AgreementError> {
        let left = until.saturating_duration_since(Instant::now());
        let room = vec![0; mine.len() * self.hosts as usize];
        let answer = self.hook.call(mine, room, left.as_secs_f64());
        answer.map_err(|status| {
            AgreementError::Left(format!("the function of the program returned {status}"))
        })
    }
}

impl AllGather for Function {
    /// The function gathers messages of one length. So the lengths are gathered first.
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
        // A message that is too long has the length 0, and then fails everywhere.
        let mine = if mine.len() > LONGEST { &[] } else { mine };
        let lengths = self.all((mine.len() as u64).to_le_bytes().to_vec(), until)?;
        let (lengths, _) = lengths.as_chunks::<8>();
        let lengths: Vec<u64> = lengths.iter().map(|n| u64::from_le_bytes(*n)).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if lengths.contains(&0) || longest > LONGEST as u64 {
            let text = format!("the hosts have messages of {lengths:?} bytes");
            return Err(AgreementError::Left(text));
        }
        let mut padded = mine.to_vec();
        padded.resize(longest as usize, 0);
        let all = self.all(padded, until)?;
        let messages = all.chunks_exact(longest as usize).zip(&lengths);
        Ok(messages
            .map(|(bytes, len)| bytes[..*len as usize].to_vec())
            .collect())
    }
}
