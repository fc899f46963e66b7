//! Live memory that devices write, or may write.

use super::scene::text;
use super::shared::{PAGES, Scenario};
use crate::check::Check;
use crate::oracle::ensure;
use io_uring::IoUring;
use io_uring::opcode::ReadFixed;
use io_uring::types::Fd;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_registration::{IoUring as Buffers, RegistrationCache};

/// Checks that memory that devices write stops being shared as soon as that is declared, and that
/// every version captures it.
pub fn memory_of_devices_is_not_shared() -> Check {
    let mut scenario = Scenario::shared()?;
    let field = scenario.scene.field;
    scenario
        .scene
        .producer
        .mark_dirty_bytes(field, 0..page_size());
    scenario.publish()?;
    ensure(scenario.shared_pages() == PAGES - CHUNK_PAGES, || {
        format!(
            "{} pages are shared after one was marked",
            scenario.shared_pages()
        )
    })?;
    scenario.scene.producer.register_dma(field);
    for _ in 0..4 {
        scenario.publish()?;
        scenario.scene.producer.trim().map_err(text)?;
        scenario.check_live()?;
        let changed = scenario
            .scene
            .observer
            .latest()
            .map_err(text)?
            .changed_pages();
        ensure(changed == PAGES as u64, || {
            format!("{changed} pages are captured")
        })?;
    }
    scenario.wait_for(0)
}

/// Checks that no memory becomes shared while a device is open, and that shared memory stays
/// shared.
pub fn no_memory_becomes_shared_while_a_device_is_open() -> Check {
    let devices = [
        "/dev/fuse",
        "/dev/net/tun",
        "/dev/loop-control",
        "/dev/kvm",
        "/dev/cpu_dma_latency",
    ];
    let open = || devices.iter().find_map(|path| File::open(path).ok());
    let device = open().ok_or("no device can be opened")?;
    let mut scenario = Scenario::new(|b| b)?;
    scenario.wait_for(0)?;
    drop(device);
    scenario.wait_for(PAGES)?;
    let _device = open();
    scenario.write(5, 77)?;
    scenario.wait_for(PAGES - 1)
}

/// Checks that memory which is registered with a device stays in place, and that each version has
/// what the device has written there, though the program has declared nothing.
pub fn registered_memory_stays_in_place() -> Check {
    let mut scenario = Scenario::shared()?;
    let mut device = Device::new()?;
    let cache = RegistrationCache::builder(device.registrar()?);
    let cache = cache.build().map_err(text)?;
    let chunk = &scenario.scene.bytes()?[..CHUNK_PAGES * page_size()];
    let (at, len) = (chunk.as_ptr() as usize, chunk.len());
    let registered = cache.get(at, len).map_err(text)?;
    for value in [3, 5, 7] {
        // Meanwhile, memory that is cold would be shared with planes.
        scenario.publish_often()?;
        device.store(at, len, *registered.handle(), value)?;
        scenario.pages[..CHUNK_PAGES].fill(value);
        scenario.publish()?;
    }
    Ok(())
}

/// A device that reads a file into registered memory: the kernel, which stores to the pages that
/// were registered, and not to the addresses.
struct Device {
    ring: IoUring,
    file: File,
}

impl Device {
    fn new() -> Result<Self, String> {
        Ok(Device {
            ring: IoUring::new(1).map_err(text)?,
            file: tempfile::tempfile().map_err(text)?,
        })
    }

    fn registrar(&self) -> Result<Buffers, String> {
        // SAFETY: the descriptor is open as long as the ring.
        let ring = unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) };
        let ring = ring.try_clone_to_owned().map_err(text)?;
        Buffers::of(ring, 1).map_err(text)
    }

    /// Makes `len` bytes at `at` equal to `value`, through the registered buffer `slot`.
    fn store(&mut self, at: usize, len: usize, slot: u32, value: u8) -> Check {
        self.file.write_all_at(&vec![value; len], 0).map_err(text)?;
        let (file, slot) = (Fd(self.file.as_raw_fd()), slot as u16);
        let read = ReadFixed::new(file, at as *mut u8, len as u32, slot).build();
        // SAFETY: the file is open until the read has ended, below. The memory is that of a field,
        // of bytes, to which nothing holds a reference meanwhile.
        unsafe { self.ring.submission().push(&read) }.map_err(text)?;
        self.ring.submit_and_wait(1).map_err(text)?;
        let done = self.ring.completion().next().map(|done| done.result());
        ensure(done == Some(len as i32), || {
            format!("the device has read {done:?} of {len} bytes")
        })
    }
}
