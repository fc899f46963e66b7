//! The steps of observers: they attach, pin, read, crash and are revoked.

use super::{Attached, Check, Crasher, Held, World, check_version, text};
use crate::ops::{How, PINS};
use std::time::{Duration, Instant};
use tcasm_observer::{ObserveError, Observer, Status};
use tcasm_tests::hostile::HostileClient;
use tcasm_tests::oracle::ensure;

impl World {
    pub(super) fn attach(&mut self, i: usize) -> Check {
        if self.observers[i].is_none() {
            let observer = Observer::attach(&self.name).map_err(text)?;
            self.observers[i] = Some(Attached {
                observer,
                seen: 0,
                held: Vec::new(),
            });
        }
        self.wait_for_leases()
    }

    /// Waits until the service thread has noticed all closed connections, which takes a moment.
    pub(super) fn wait_for_leases(&self) -> Check {
        let attached =
            1 + self.observers.iter().flatten().count() + usize::from(self.crasher.is_some());
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.producer.stats().observers != attached {
            ensure(Instant::now() < deadline, || {
                format!("not {attached} observers")
            })?;
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    pub(super) fn pin(&mut self, i: usize, how: How, keep_view: bool) -> Check {
        let numbers = self.oracle.numbers();
        let Some(o) = &mut self.observers[i] else {
            return Ok(());
        };
        if o.held.len() >= PINS {
            return Ok(());
        }
        let newest = numbers.last().copied();
        let (found, expected) = match how {
            How::Latest => (o.observer.latest(), newest),
            How::Next => (
                o.observer.next(Duration::ZERO),
                numbers.iter().copied().find(|n| *n > o.seen),
            ),
            How::Number(back) => {
                let n = self.oracle.next.saturating_sub(back).max(1);
                (o.observer.version(n), numbers.contains(&n).then_some(n))
            }
        };
        let version = match (found, expected) {
            (Ok(v), Some(n)) if v.number() == n => v,
            (Err(ObserveError::NotReady), None) if !matches!(how, How::Number(_)) => return Ok(()),
            (Err(ObserveError::Gone { available, .. }), None) if available == numbers => {
                return Ok(());
            }
            (found, expected) => {
                return Err(format!("{how:?} gave {found:?}, expected {expected:?}"));
            }
        };
        if !matches!(how, How::Number(_)) {
            o.seen = o.seen.max(version.number());
        }
        let expected = self
            .oracle
            .expected(version.number())
            .ok_or("a version")?
            .clone();
        let view = keep_view
            .then(|| version.view())
            .transpose()
            .map_err(text)?;
        check_version(&version, view.as_ref(), &expected, self.step)?;
        o.held.push(Held {
            version,
            view,
            expected,
        });
        Ok(())
    }

    pub(super) fn crasher_pins(&mut self, which: usize) -> Check {
        if self.crasher.is_none() {
            let connection = HostileClient::connect(&tcasm_observer::runtime_dir(), &self.name);
            let attached = connection.attach();
            self.crasher = Some(Crasher {
                _connection: connection,
                attached,
                pins: Vec::new(),
            });
            self.wait_for_leases()?;
        }
        let numbers = self.oracle.numbers();
        let Some(crasher) = &mut self.crasher else {
            return Ok(());
        };
        // Sometimes a version that does not exist.
        let n = numbers
            .get(which % (numbers.len() + 1))
            .copied()
            .unwrap_or(u64::MAX - which as u64);
        if crasher.pins.len() < PINS {
            let word = &crasher.attached.lease.pins()[crasher.pins.len()];
            word.store(n, std::sync::atomic::Ordering::SeqCst);
            crasher.pins.push(n);
        }
        Ok(())
    }

    /// Revokes all observers, which belong to this process.
    pub(super) fn revoke(&mut self) -> Check {
        let attached =
            1 + self.observers.iter().flatten().count() + usize::from(self.crasher.is_some());
        let revoked = self.producer.revoke(std::process::id() as i32);
        ensure(revoked == attached, || {
            format!("{revoked} of {attached} were revoked")
        })?;
        for o in self.observers.iter_mut().flatten() {
            ensure(
                matches!(o.observer.latest(), Err(ObserveError::Revoked)),
                || "latest() does not report the revoked lease".to_owned(),
            )?;
            // Held versions stay as they are.
            for held in &o.held {
                check_version(&held.version, held.view.as_ref(), &held.expected, self.step)?;
            }
        }
        ensure(
            matches!(self.inspector.status(), Ok(Status::Revoked)),
            || "status".to_owned(),
        )?;
        self.observers = Default::default();
        self.crasher = None;
        self.inspector = Observer::attach(&self.name).map_err(text)?;
        self.wait_for_leases()
    }
}
