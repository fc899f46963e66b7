//! The pointers that C passes. All `unsafe` blocks of this crate are here.
//!
//! Only C makes values of these types: their fields are private, and no function of Rust returns
//! one. `tcasm.h` says what C promises of each pointer that it passes:
//!
//! - it is null, or valid for the whole call, for as many values as the function says: for one, or
//!   for as many as the number that stands beside it,
//! - nobody else writes to what the function reads, or uses what it writes, during the call,
//! - texts end with a null byte.
//!
//! The functions here check everything else: null, UTF-8, alignment, and that lengths are possible.

use crate::status::Failure;
use parking_lot::Mutex;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use tcasm_core::field::FieldDesc;
use tcasm_transfer::{Access, Declaration, Gathered, Layout, Owner, Segment};

/// A text from C.
#[repr(transparent)]
pub struct Text(*const c_char);

/// Values that C passes for reading, as many as a number beside it says.
#[repr(transparent)]
pub struct List<T>(*const T);

/// Memory of C into which one value is written.
#[repr(transparent)]
pub struct Out<T>(*mut T);

/// Memory of C into which values are written, as many as a number beside it says.
#[repr(transparent)]
pub struct Fill<T>(*mut T);

/// The number of values beside a [`List`] or a [`Fill`].
#[repr(transparent)]
pub struct Count(usize);

/// A structure of C that may be larger or smaller than the one known here: its first member is its
/// size in bytes.
#[repr(transparent)]
pub struct Sized<T>(*mut T);

/// Types in which all bits are valid, so that C may pass any: the numbers, pointers to texts, and
/// structures of them.
pub trait Plain: Copy {}
impl Plain for u8 {}
impl Plain for i32 {}
impl Plain for u32 {}
impl Plain for i64 {}
impl Plain for u64 {}
impl Plain for usize {}
impl Plain for f64 {}
impl<T> Plain for *const T {}
impl<T> Plain for *mut T {}

/// The largest size that a structure of a later version may have. A size that C did not set is
/// hardly ever a possible one.
const LARGEST: usize = 4096;

/// A structure that begins with its size in bytes, a `size_t` that C sets.
pub trait Growing: Plain {
    /// The size that it had when it was introduced. No program has a smaller one. It is a number,
    /// because `size_of` would grow with the structure, and refuse programs that are compiled
    /// already.
    const FIRST: usize;
}

impl Text {
    /// Returns the text. `what` names the argument in errors.
    pub fn get(&self, what: &str) -> Result<&str, Failure> {
        let text = self.optional(what)?;
        text.ok_or_else(|| null(what))
    }

    /// Returns the text, or `None` if C passed null.
    pub fn optional(&self, what: &str) -> Result<Option<&str>, Failure> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: the pointer is not null. C promises that a text ends with a null byte, and that
        // nobody changes it during the call. `self` does not outlive the call.
        let text = unsafe { CStr::from_ptr(self.0) };
        match text.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Failure::argument(format!("{what} is not UTF-8: {error}"))),
        }
    }
}

impl<T: Plain> List<T> {
    /// Returns the values. `what` names them in errors.
    pub fn get(&self, count: &Count, what: &str) -> Result<&[T], Failure> {
        check(self.0, count, what)?;
        if count.0 == 0 {
            return Ok(&[]);
        }
        // SAFETY: the pointer is neither null nor misaligned, and the bytes fit into the address
        // space. C promises that there are as many values, and that nobody writes them during the
        // call. Their bits are valid, because `T` is plain. `self` does not outlive the call.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count.0) })
    }

    /// Returns a fixed number of values.
    pub fn array<const N: usize>(&self, what: &str) -> Result<[T; N], Failure> {
        let values = self.get(&Count(N), what)?;
        values.try_into().map_err(Failure::other)
    }

    /// Returns a fixed number of values, or `None` if C passed null.
    pub fn optional<const N: usize>(&self, what: &str) -> Result<Option<[T; N]>, Failure> {
        match self.0.is_null() {
            true => Ok(None),
            false => self.array(what).map(Some),
        }
    }
}

impl<T> List<T> {
    /// Returns true if C passed null.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl List<*const c_char> {
    /// Returns the texts of a list of texts.
    pub fn texts(&self, count: &Count, what: &str) -> Result<Vec<&str>, Failure> {
        let pointers = self.get(count, what)?.iter();
        // The texts live as long as the list: C promises that both are valid for the whole call.
        let texts = pointers.map(|pointer| {
            let text = Text(*pointer);
            if text.0.is_null() {
                return Err(null(what));
            }
            // SAFETY: as in `Text::optional`.
            let text = unsafe { CStr::from_ptr(text.0) };
            let wrong = |e| Failure::argument(format!("{what}: a text is not UTF-8: {e}"));
            text.to_str().map_err(wrong)
        });
        texts.collect()
    }
}

impl<T: Plain> Out<T> {
    /// Fails if C passed null. Called before anything is done whose result would be lost.
    pub fn check(&self, what: &str) -> Result<(), Failure> {
        check(self.0.cast_const(), &Count(1), what)
    }

    /// Stores the value, unless C passed null.
    pub fn set(&self, value: T) {
        if check(self.0.cast_const(), &Count(1), "").is_ok() {
            // SAFETY: the pointer is neither null nor misaligned. C promises that there is memory
            // for one value, which nobody else uses during the call.
            unsafe { self.0.write(value) }
        }
    }
}

impl<T: Plain> Fill<T> {
    /// Stores as many of the values as there is room for. Returns how many there are in all.
    pub fn set(&self, room: &Count, values: &[T], what: &str) -> Result<usize, Failure> {
        let fits = Count(values.len().min(room.0));
        check(self.0.cast_const(), &fits, what)?;
        if fits.0 > 0 {
            // SAFETY: the pointer is neither null nor misaligned. C promises that there is room for
            // `room` values, of which these are at most as many, and that nobody else uses it
            // during the call. So it does not overlap with `values`, which is memory of Rust.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.0, fits.0) }
        }
        Ok(values.len())
    }
}

impl Fill<u8> {
    /// Returns the memory, which is to be filled whole. It is cleared first, because Rust must not
    /// see bytes that C has not initialised.
    pub fn cleared(&mut self, room: &Count, what: &str) -> Result<&mut [u8], Failure> {
        check(self.0.cast_const(), room, what)?;
        if room.0 == 0 {
            return Ok(&mut []);
        }
        // SAFETY: the pointer is not null. C promises that there is room for as many bytes, which
        // nobody else uses during the call. They are initialised before a reference to them exists.
        // `self` does not outlive the call, and is borrowed mutably.
        unsafe {
            self.0.write_bytes(0, room.0);
            Ok(std::slice::from_raw_parts_mut(self.0, room.0))
        }
    }
}

impl Count {
    /// Returns the number.
    pub fn get(&self) -> usize {
        self.0
    }
}

impl<T: Growing> Sized<T> {
    /// Fails if the structure cannot be written to.
    pub fn check(&self, what: &str) -> Result<(), Failure> {
        self.size(what).map(drop)
    }

    /// Returns the size that C gives.
    fn size(&self, what: &str) -> Result<usize, Failure> {
        check(self.0.cast_const(), &Count(1), what)?;
        // SAFETY: the pointer is neither null nor misaligned. C promises that it is that of a
        // structure whose first member is its size, which is initialised.
        let size = unsafe { self.0.cast::<usize>().read() };
        match (T::FIRST..=LARGEST).contains(&size) {
            true => Ok(size),
            false => Err(Failure::argument(format!(
                "the member `size` of {what} is {size}: set it to sizeof({what}) before the call"
            ))),
        }
    }

    /// Stores all members that C's structure has. Its size stays as it is. Members that this
    /// library does not know become 0.
    pub fn set(&self, value: &T, what: &str) -> Result<(), Failure> {
        let size = self.size(what)?;
        let known = size.min(std::mem::size_of::<T>());
        let first = std::mem::size_of::<usize>();
        // SAFETY: C promises that the structure has `size` bytes, which nobody else uses during the
        // call. `value` has at least `known` bytes, and lies elsewhere. The size itself, the first
        // member, is left alone.
        unsafe {
            let (from, to) = (std::ptr::from_ref(value).cast::<u8>(), self.0.cast::<u8>());
            std::ptr::copy_nonoverlapping(from.add(first), to.add(first), known - first);
            to.add(known).write_bytes(0, size - known);
        }
        Ok(())
    }
}

/// Declares memory of C for peers.
pub fn declared(layout: Layout, access: Access) -> Result<Declaration, Failure> {
    // SAFETY: C promises (see `tcasm_declare`) that the memory stays mapped and is used for nothing
    // else until the cookie is revoked, and that it may be read, and written if `access` says so.
    // No reference of Rust to it exists: functions of this crate make such references only during
    // calls, of memory that C promises nobody else uses meanwhile.
    Ok(unsafe { Declaration::live(layout, access) }?)
}

/// Adopts an array of C as a field.
pub fn adopt(
    producer: &mut tcasm_producer::Producer,
    desc: &FieldDesc,
    data: *mut c_void,
) -> Result<(), Failure> {
    // SAFETY: C promises (see `tcasm_adopt`) that no thread stores to the array during calls with
    // the producer until it is released. This crate makes no view of fields of a producer. Memory
    // that does not exist is an error.
    Ok(unsafe { producer.adopt_described(desc, data.expose_provenance()) }?)
}

/// A function of C that all hosts call together, with its context.
#[derive(Clone, Debug)]
pub struct Hook {
    function: extern "C" fn(*mut c_void, *const c_void, *mut c_void, usize, f64) -> c_int,
    /// The address of the context, which is passed on as it is.
    context: usize,
}

/// The buffers of functions that have failed.
static KEPT: Mutex<Vec<(Vec<u8>, Vec<u8>)>> = Mutex::new(Vec::new());

impl Hook {
    /// Returns the function of C and its context.
    pub fn new(
        function: extern "C" fn(*mut c_void, *const c_void, *mut c_void, usize, f64) -> c_int,
        context: *mut c_void,
    ) -> Self {
        let context = context.expose_provenance();
        Hook { function, context }
    }

    /// Calls the function, which fills `all`. Fails with what it returned if that is not 0. Then
    /// both buffers are kept for ever, because an operation that C has begun may still use them.
    pub fn call(&self, mine: Vec<u8>, mut all: Vec<u8>, timeout: f64) -> Result<Vec<u8>, c_int> {
        let context = std::ptr::with_exposed_provenance_mut(self.context);
        let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
        // C promises (see `tcasm_all_gather`) that the function writes to `all` only, as many bytes
        // as there are hosts times `mine`, and does not unwind.
        match (self.function)(context, from, to, mine.len(), timeout) {
            0 => Ok(all),
            status => {
                KEPT.lock().push((mine, all));
                Err(status)
            }
        }
    }
}

/// Publishes versions of memory of C.
pub fn gathered_from(owner: &Arc<Owner>, name: &str, layout: Layout) -> Result<Gathered, Failure> {
    // Refuses memory that is not there.
    declared(layout.clone(), Access::Read)?;
    // SAFETY: C promises (see `tcasm_gathered_new`) that the memory stays mapped, and that nobody
    // writes it during that call and `tcasm_gathered_publish`. All bits of bytes are valid.
    Ok(unsafe { Gathered::create(owner, name, layout) }?)
}

/// Calls `fill` with pieces of memory of C, which do not overlap, as buffers. They are cleared
/// first, as in [`Fill::cleared`].
pub fn filled<R>(pieces: &[Segment], fill: impl FnOnce(&mut [IoSliceMut<'_>]) -> R) -> R {
    let buffer = |piece: &Segment| {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(piece.addr);
        // SAFETY: the caller has checked that the address is not null, that the piece does not wrap
        // around, and that no two pieces overlap. C promises that there is memory, which nobody
        // else uses during the call. The slice is used in this function only.
        unsafe {
            start.write_bytes(0, piece.len);
            IoSliceMut::new(std::slice::from_raw_parts_mut(start, piece.len))
        }
    };
    let mut buffers: Vec<_> = pieces.iter().map(buffer).collect();
    fill(&mut buffers)
}

/// Calls `take` with pieces of memory of C as buffers.
pub fn taken<R>(pieces: &[Segment], take: impl FnOnce(&[IoSlice<'_>]) -> R) -> R {
    let buffer = |piece: &Segment| {
        let start = std::ptr::with_exposed_provenance::<u8>(piece.addr);
        // SAFETY: the caller has checked that the address is not null, and that the piece does not
        // wrap around. C promises that there are initialised bytes, which nobody writes during the
        // call. The slice is used in this function only.
        IoSlice::new(unsafe { std::slice::from_raw_parts(start, piece.len) })
    };
    let buffers: Vec<_> = pieces.iter().map(buffer).collect();
    take(&buffers)
}

/// Fails if there cannot be `count` values at `pointer`.
fn check<T>(pointer: *const T, count: &Count, what: &str) -> Result<(), Failure> {
    let bytes = count.0.checked_mul(std::mem::size_of::<T>());
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        let count = count.0;
        return Err(Failure::argument(format!(
            "{what} cannot have {count} values"
        )));
    }
    if count.0 == 0 {
        return Ok(());
    }
    if pointer.is_null() {
        return Err(null(what));
    }
    match pointer.is_aligned() {
        true => Ok(()),
        false => Err(Failure::argument(format!(
            "{what} at {pointer:p} is not aligned"
        ))),
    }
}

fn null(what: &str) -> Failure {
    Failure::argument(format!("{what} is null"))
}

/// Returns a text for C. A null byte in it becomes a question mark.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}
