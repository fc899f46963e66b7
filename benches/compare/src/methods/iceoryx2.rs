//! The method iceoryx2: it sends samples in shared memory without a copy.
//!
//! - Mode `loan`: the simulation computes in the sample that it will send. Each step computes in
//!   other memory than the step before. So the pages that the step will not rewrite are copied from
//!   the sample before. A simulation that rewrites everything copies nothing.
//! - Mode `copy`: the simulation computes in private memory and sends copies.
#![allow(unsafe_code)]

use super::carry_over::carry_over;
use super::method::{Method, Sink, Source, no_mode};
use crate::case::Case;
use crate::failure::Failure;
use crate::sys::memory::Memory;
use crate::workload::PAGE;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::sample::Sample;
use iceoryx2::sample_mut::SampleMut;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use iceoryx2::service::port_factory::{event, publish_subscribe};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

pub struct Iceoryx2;

type Ipc = ipc::Service;
type Samples = publish_subscribe::PortFactory<Ipc, [u8], u64>;
type Events = event::PortFactory<Ipc>;
type Uninit = SampleMutUninit<Ipc, [MaybeUninit<u8>], u64>;

/// Number of samples that a publisher has memory for: one to write, the newest, and some that
/// observers hold.
const SAMPLES: usize = 6;

impl Method for Iceoryx2 {
    fn name(&self) -> &'static str {
        "iceoryx2"
    }

    fn modes(&self) -> Vec<String> {
        vec!["loan".to_owned(), "copy".to_owned()]
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        let (samples, events) = services(case)?;
        let port = Port {
            publisher: publisher(&samples, case.bytes())?,
            notifier: events
                .notifier_builder()
                .create()
                .map_err(Failure::method("making a notifier"))?,
            bytes: case.bytes(),
        };
        match case.mode.as_str() {
            "loan" => Ok(Box::new(LoanSource {
                port,
                own: subscriber(&samples)?,
                before: None,
                loan: None,
            })),
            "copy" => Ok(Box::new(CopySource {
                port,
                live: Memory::private(case.bytes())?,
            })),
            mode => Err(no_mode(self, mode)),
        }
    }

    fn sink(&self, case: &Case, _: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        let (samples, events) = services(case)?;
        Ok(Some(Box::new(IceoryxSink {
            subscriber: subscriber(&samples)?,
            listener: events
                .listener_builder()
                .create()
                .map_err(Failure::method("making a listener"))?,
            held: None,
        })))
    }

    fn clean_up(&self, case: &Case) {
        let prefix = prefix(case);
        let files = std::fs::read_dir("/dev/shm")
            .into_iter()
            .flatten()
            .flatten();
        for file in files.filter(|f| f.file_name().to_string_lossy().starts_with(&prefix)) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// Returns the prefix for the names of shared memory: the name of the folder of all cases, without
/// its random part. Cases run one after the other, so they can use the same prefix. It is short
/// because names of sockets are limited in length.
fn prefix(case: &Case) -> String {
    let folder = case.dir.parent().and_then(|p| p.file_name());
    let name = folder.map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    name.rfind('-')
        .map_or(name.clone(), |end| name[..=end].to_owned())
}

fn services(case: &Case) -> Result<(Samples, Events), Failure> {
    set_log_level_from_env_or(LogLevel::Fatal);
    let mut config = Config::default();
    let root = Path::new(case.dir.as_os_str().as_encoded_bytes());
    config
        .global
        .set_root_path(&root.map_err(Failure::method("naming files"))?);
    config.global.prefix =
        FileName::new(prefix(case).as_bytes()).map_err(Failure::method("naming files"))?;
    let builder = NodeBuilder::new()
        .config(&config)
        .signal_handling_mode(SignalHandlingMode::Disabled);
    let node = builder
        .create::<Ipc>()
        .map_err(Failure::method("making a node"))?;
    let name = ServiceName::new("compare").map_err(Failure::method("naming the service"))?;
    // The observers, the late observer of a case without observers, and the producer itself.
    let most = case.observers + 2;
    let samples = node
        .service_builder(&name)
        .publish_subscribe::<[u8]>()
        .user_header::<u64>()
        .payload_alignment(Alignment::new(PAGE).unwrap_or(Alignment::ALIGN_4096))
        .max_subscribers(most)
        .max_nodes(most + 1)
        .history_size(1)
        .subscriber_max_buffer_size(1)
        .subscriber_max_borrowed_samples(2)
        .enable_safe_overflow(true)
        .open_or_create()
        .map_err(Failure::method("making the service"))?;
    let events = node
        .service_builder(&name)
        .event()
        .max_listeners(most)
        .max_nodes(most + 1)
        .open_or_create()
        .map_err(Failure::method("making the event service"))?;
    Ok((samples, events))
}

fn publisher(samples: &Samples, bytes: usize) -> Result<Publisher<Ipc, [u8], u64>, Failure> {
    let builder = samples.publisher_builder().initial_max_slice_len(bytes);
    let builder = builder.override_sample_preallocation(|_| SAMPLES);
    builder
        .create()
        .map_err(Failure::method("making a publisher"))
}

fn subscriber(samples: &Samples) -> Result<Subscriber<Ipc, [u8], u64>, Failure> {
    samples
        .subscriber_builder()
        .create()
        .map_err(Failure::method("making a subscriber"))
}

struct Port {
    publisher: Publisher<Ipc, [u8], u64>,
    notifier: Notifier<Ipc>,
    bytes: usize,
}

impl Port {
    fn loan(&self) -> Result<Uninit, Failure> {
        self.publisher
            .loan_slice_uninit(self.bytes)
            .map_err(Failure::method("loaning a sample"))
    }

    fn send(&self, mut sample: SampleMut<Ipc, [u8], u64>, step: u64) -> Result<bool, Failure> {
        *sample.user_header_mut() = step;
        sample.send().map_err(Failure::method("sending a sample"))?;
        self.notifier
            .notify()
            .map_err(Failure::method("notifying"))?;
        Ok(true)
    }
}

struct CopySource {
    port: Port,
    live: Memory,
}

impl Source for CopySource {
    fn memory(&mut self) -> &mut [u8] {
        self.live.bytes_mut()
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let sample = self.port.loan()?.write_from_slice(self.live.bytes());
        self.port.send(sample, step)
    }
}

struct LoanSource {
    port: Port,
    /// The producer's own subscription. Through it, the producer holds the sample that it sent
    /// last.
    own: Subscriber<Ipc, [u8], u64>,
    before: Option<Sample<Ipc, [u8], u64>>,
    loan: Option<SampleMut<Ipc, [u8], u64>>,
}

impl Source for LoanSource {
    fn memory(&mut self) -> &mut [u8] {
        self.loan
            .as_mut()
            .map_or(&mut [], |loan| loan.payload_mut())
    }

    fn begin(&mut self, rewritten: &[usize]) -> Result<(), Failure> {
        let loan = self.port.loan()?;
        // SAFETY: all values of a byte are valid `u8`. The sample lies in shared memory, which the
        // kernel or an earlier sample has initialised.
        let mut loan = unsafe { loan.assume_init() };
        if let Some(before) = &self.before {
            carry_over(before.payload(), loan.payload_mut(), rewritten);
        }
        self.loan = Some(loan);
        Ok(())
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let Some(loan) = self.loan.take() else {
            return Ok(false);
        };
        self.before = None;
        self.port.send(loan, step)?;
        self.before = self
            .own
            .receive()
            .map_err(Failure::method("receiving one's own sample"))?;
        Ok(true)
    }
}

struct IceoryxSink {
    subscriber: Subscriber<Ipc, [u8], u64>,
    listener: Listener<Ipc>,
    held: Option<Sample<Ipc, [u8], u64>>,
}

impl Sink for IceoryxSink {
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure> {
        let deadline = Instant::now() + timeout;
        loop {
            let sample = self
                .subscriber
                .receive()
                .map_err(Failure::method("receiving a sample"))?;
            if let Some(sample) = sample
                && after.is_none_or(|a| *sample.user_header() > a)
            {
                let step = *sample.user_header();
                self.held = Some(sample);
                return Ok(Some(step));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let woken = self.listener.timed_wait(|_| (), left);
            woken.map_err(Failure::method("waiting for a sample"))?;
        }
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        Ok(self.held.as_ref().map_or(&[], |s| s.payload()))
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.held = None;
        Ok(())
    }
}
