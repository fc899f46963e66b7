//! I2, I5 and I8: a producer that dies, observers that stop or die, and hostile observers.

use super::common::{PAGES, bytes_of, live, newest_is, region, text, touch, within};
use crate::PublishVisible;
use crate::check::Check;
use crate::child::{Child, DEADLINE, Received, poll_until};
use crate::hostile::HostileClient;
use crate::oracle::ensure;
use crate::{name, procfs};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::io::BufRead;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tcasm_core::format::wire::Request;
use tcasm_core::sys::mem::page_size;
use tcasm_core::sys::socket;
use tcasm_observer::{Observer, runtime_dir};

/// Starts this program again in another role.
fn role(args: &[&str], env: &[(&str, &str)]) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(text)?;
    let program = program.to_str().ok_or("a path that is text")?;
    let child = Child::start(program, args, &runtime_dir(), env);
    match child.receive(DEADLINE) {
        Received::Line(_) => Ok(child),
        other => Err(format!("{args:?}: {other:?}")),
    }
}

fn print_and_wait(line: &str) {
    println!("{line}");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
}

/// Checks that a producer that is killed at any step of its second publish leaves a whole version.
pub fn i2_a_version_is_visible_only_when_it_is_whole() -> Check {
    for point in ["harvested", "half-copied", "copied", "mapped", "visible"] {
        let name = name("i2");
        let mut child = role(
            &["die-in-publish", &name],
            &[("TCASM_FAULT", &format!("{point}:2"))],
        )?;
        let mut observer = Observer::attach(&name).map_err(text)?;
        child.send("go");
        child.wait();
        let version = observer
            .latest()
            .map_err(|e| format!("after a kill at {point:?}: {e}"))?;
        let (n, step) = (version.number(), version.step());
        let expected = n as u8;
        let whole = bytes_of(&version)?.iter().all(|b| *b == expected);
        ensure(whole && step == n, || {
            format!("version {n} is not whole after a kill at {point:?}")
        })?;
        ensure((n == 2) == (point == "visible"), || {
            format!("version {n} after a kill at {point:?}")
        })?;
    }
    Ok(())
}

/// Runs the role of the producer in I2. All bytes of version `n` are `n`.
pub fn die_in_publish(name: &str) -> Check {
    let (mut producer, field) = region(name, |b| b)?;
    for step in 1..=2u8 {
        producer.view_mut(field).map_err(text)?.fill(step);
        producer.publish_visible(step.into(), 0.0).map_err(text)?;
        print_and_wait("published");
    }
    Ok(())
}

/// Checks that `publish` goes on while observers that hold the first version, with notifications
/// switched on, are stopped and killed.
pub fn i5_stopped_and_killed_observers_change_nothing() -> Check {
    let name = name("i5");
    let (mut producer, field) = region(&name, |b| b)?;
    touch(&mut producer, field, 0, 1, 1)?;
    producer.publish_visible(1, 0.0).map_err(text)?;
    let mut children = Vec::new();
    for _ in 0..3 {
        children.push(role(&["hold", &name], &[])?);
    }
    children.iter().for_each(|c| c.signal(Signal::SIGSTOP));
    let mut observer = Observer::attach(&name).map_err(text)?;
    within(
        Duration::from_secs(20),
        "publishing while observers are stopped",
        move || {
            for step in 2..500u16 {
                touch(&mut producer, field, step as usize % 97, 97, step as u8)?;
                let receipt = producer.publish_visible(step.into(), 0.0).map_err(text)?;
                ensure(receipt.version() == Some(step.into()), || {
                    format!("{receipt:?}")
                })?;
                if step == 250 {
                    children[0].kill();
                }
            }
            newest_is(&mut observer, &live(&producer, field)?)?;
            ensure(observer.available().map_err(text)?.contains(&1), || {
                "a pin was lost".to_owned()
            })?;
            children.iter_mut().for_each(Child::kill);
            poll_until("the pins of the dead are gone", || {
                (producer.stats().observers == 1).then_some(())
            });
            producer.publish_visible(500, 0.0).map_err(text)?;
            let there = observer.available().map_err(text)?;
            ensure(!there.contains(&1), || {
                format!("versions {there:?}, with no pin left")
            })
        },
    )
}

/// Runs the role of the observers in I5.
pub fn hold(name: &str) -> Check {
    let mut observer = Observer::attach(name).map_err(text)?;
    let _notices = observer.descriptor().map_err(text)?.as_raw_fd();
    let version = observer.version(1).map_err(text)?;
    let _view = version.view().map_err(text)?;
    print_and_wait("holding");
    Ok(())
}

/// Checks that hostile processes waste no more memory than the bound. They send nonsense, send too
/// many requests, send descriptors, and write nonsense into their leases.
pub fn i8_hostile_observers_waste_no_more_than_the_bound() -> Check {
    let name = name("i8");
    let bound = (4 * PAGES * page_size()) as u64;
    let (mut producer, field) = region(&name, |b| b.memory(bound).max_observers(20))?;
    producer.publish_visible(1, 0.0).map_err(text)?;
    let open = procfs::descriptors(std::process::id() as i32).len();
    let liar = HostileClient::connect(&runtime_dir(), &name);
    let lease = liar.attach().lease;
    nonsense_ends_the_connection(&name)?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    for step in 2..40u64 {
        // All versions that may exist, and some that cannot exist.
        let lies = [0, step, step + 1, u64::MAX, step << 1, 1 << 63];
        let words = lease.pins().iter().zip(lies.into_iter().cycle());
        words.for_each(|(word, lie)| word.store(lie, Ordering::SeqCst));
        touch(&mut producer, field, 0, 1, step as u8)?;
        let receipt = producer.publish_visible(step, 0.0).map_err(text)?;
        let held = producer.stats().held_bytes;
        ensure(held <= bound, || {
            format!("versions hold {held} bytes of {bound}")
        })?;
        if receipt.version().is_some() {
            newest_is(&mut observer, &live(&producer, field)?)?;
        }
    }
    drop((lease, liar, observer));
    poll_until("all are gone", || {
        (producer.stats().observers == 0).then_some(())
    });
    // The service closes them after it has counted them as gone. Other threads read files of the
    // system now and then.
    poll_until("as many descriptors are open as before", || {
        let left = procfs::descriptors(std::process::id() as i32).len();
        (left <= open).then_some(())
    });
    let receipt = producer.publish_visible(40, 0.0).map_err(text)?;
    ensure(receipt.version().is_some(), || {
        format!("with no observer attached: {receipt:?}")
    })
}

/// Returns true if the connection ends and no descriptor came through it.
fn is_refused(client: &HostileClient) -> bool {
    let mut buffer = [0; 64];
    while socket::wait_readable(&client.socket, Duration::from_secs(20)) {
        match socket::receive(&client.socket, &mut buffer) {
            Ok((0, _)) | Err(Errno::ECONNRESET) => return true,
            Ok((_, objects)) if !objects.is_empty() => return false,
            _ => {}
        }
    }
    false
}

fn nonsense_ends_the_connection(name: &str) -> Check {
    let zero = std::fs::File::open("/dev/zero").map_err(text)?;
    for message in [&b"hello"[..], &[0; 16], &[0xff; 24], &[7; 32], &[0; 4000]] {
        let client = HostileClient::connect(&runtime_dir(), name);
        client.say_anyhow(message, &[zero.as_raw_fd(); 5]);
        ensure(is_refused(&client), || {
            format!(
                "another process that sends {} bytes of nonsense first is let in",
                message.len()
            )
        })?;
    }
    let asks = |message: Vec<u8>, times: usize| {
        let client = HostileClient::connect(&runtime_dir(), name);
        client.attach();
        for _ in 0..times {
            client.say_anyhow(&message, &[zero.as_raw_fd()]);
        }
        ensure(client.is_hung_up_on(), || {
            format!("{message:?}, sent {times} times, does not end the connection")
        })
    };
    asks(vec![9; 8], 1)?;
    asks(vec![1; 31], 1)?;
    asks(Request::Subscribe.encode(), 50_000)
}
