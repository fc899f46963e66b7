//! The settings of a host buffer, and how a process gets it.

use crate::agreement::{Agreement, Alone};
use crate::buffer::{HostBuffer, Once};
use crate::claim::{self, Claim};
use crate::error::HostBufferError;
use crate::join::join;
use crate::keeper::{Obtained, Role};
use crate::layout::{Layout, Section};
use crate::lead::{Wish, lead};
use crate::leader::Leader;
use std::time::{Duration, Instant};
use tcasm_core::place::{addresses, check_name};
use tcasm_core::sys::mem::HUGE_PAGE;
use tcasm_core::sys::time::deadline;

/// How long a process waits before it tries again.
const AGAIN: Duration = Duration::from_millis(5);

/// The settings of a host buffer. All processes of the job must have the same, except for the
/// timeout.
#[derive(Debug)]
pub struct HostBufferBuilder {
    job: String,
    sections: Vec<Section>,
    processes: Option<usize>,
    agreement: Box<dyn Agreement>,
    timeout: Duration,
    address: Option<u64>,
}

impl HostBuffer {
    /// Creates a buffer of `bytes` bytes with one section, `data`, or attaches to that of `job`.
    pub fn create_or_attach(job: &str, bytes: usize) -> Result<Self, HostBufferError> {
        let section = Section::new("data", bytes);
        HostBuffer::builder(job).section(section).create_or_attach()
    }

    /// Returns the settings of the buffer of `job`, still without a section.
    pub fn builder(job: &str) -> HostBufferBuilder {
        HostBufferBuilder::new(job)
    }
}

impl HostBufferBuilder {
    pub(crate) fn new(job: &str) -> Self {
        HostBufferBuilder {
            job: job.to_owned(),
            sections: Vec::new(),
            processes: None,
            agreement: Box::new(Alone),
            timeout: Duration::from_secs(60),
            address: None,
        }
    }

    /// Adds a section. The sections lie one behind the other, each at a multiple of 2 MiB.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Says how many processes of this host take part. Then all of them get the buffer, or none
    /// does. Without it, the first process creates the buffer, and each other one attaches at the
    /// same address or is refused by itself. An agreement that knows the number needs no such call.
    #[must_use]
    pub fn processes(self, count: usize) -> Self {
        HostBufferBuilder {
            processes: Some(count),
            ..self
        }
    }

    /// Agrees with other hosts.
    #[must_use]
    pub fn agreement(self, agreement: impl Agreement + 'static) -> Self {
        HostBufferBuilder {
            agreement: Box::new(agreement),
            ..self
        }
    }

    /// Waits for at most `timeout` for the other processes. The default is one minute.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        HostBufferBuilder { timeout, ..self }
    }

    /// Accepts this address only, for example because a checkpoint has pointers into the buffer. It
    /// must be a multiple of 2 MiB. By default the addresses depend on the name of the job, so that
    /// a job that is started again gets the same one.
    #[must_use]
    pub fn address(self, address: usize) -> Self {
        HostBufferBuilder {
            address: Some(address as u64),
            ..self
        }
    }

    /// Creates the buffer together with the other processes, or attaches to it.
    pub fn create_or_attach(mut self) -> Result<HostBuffer, HostBufferError> {
        let wish = self.wish()?;
        let once = Once::begin(&wish.job)?;
        let obtained = obtain(&wish, self.agreement.as_mut())?;
        HostBuffer::start(wish.job, obtained, once)
    }

    fn wish(&mut self) -> Result<Wish, HostBufferError> {
        check_name(&self.job)?;
        let layout = Layout::new(std::mem::take(&mut self.sections))?;
        if self.processes == Some(0) {
            return Err(HostBufferError::Layout("0 processes take part".into()));
        }
        let candidates = match self.address {
            Some(at) if at == 0 || !at.is_multiple_of(HUGE_PAGE as u64) => {
                let why = format!("{at:#x} is not a multiple of 2 MiB above 0");
                return Err(HostBufferError::Layout(why));
            }
            Some(address) => vec![address],
            // A region of the same name must not be in the way.
            None => addresses(&format!("hostbuffer/{}", self.job), layout.total as u64).collect(),
        };
        let local = self.agreement.local();
        Ok(Wish {
            job: self.job.clone(),
            layout,
            candidates,
            processes: self.processes.or(local.map(|local| local.processes)),
            leads: local.is_none_or(|local| local.leads),
            until: deadline(self.timeout),
        })
    }
}

/// Leads the other processes, or joins the one that leads.
fn obtain(wish: &Wish, hosts: &mut dyn Agreement) -> Result<Obtained, HostBufferError> {
    loop {
        if let Some(link) = claim::connect(&wish.job)? {
            if let Some((memory, presence)) = join(&link, wish)? {
                let role = Role::Member(link);
                return Ok(Obtained {
                    memory,
                    presence,
                    role,
                });
            }
        } else if wish.leads
            && let Some((claim, listener)) = Claim::take(&wish.job, false)?
        {
            let mut leader = Leader::new(claim, listener);
            let (memory, presence) = lead(&mut leader, wish, hosts)?;
            let role = Role::Leader(leader);
            return Ok(Obtained {
                memory,
                presence,
                role,
            });
        }
        if Instant::now() >= wish.until {
            return Err(HostBufferError::NoAnswer {
                step: "this process looked for the one that leads",
            });
        }
        std::thread::sleep(AGAIN);
    }
}
