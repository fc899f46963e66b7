//! Handles: numbers in the shape of pointers, which are looked up in tables.
//!
//! A number is never used twice, and says of which kind its object is. So a handle that was closed,
//! that is of another kind, or that is no handle at all is found out, and nothing is read through
//! it. Each process has tables of its own: a forked child inherits numbers, but no objects.

use crate::border::{Out, Plain};
use crate::status::{Failure, TCASM_CLOSED, TCASM_FORKED, TCASM_INVALID_HANDLE};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tcasm_core::sys::per_process::PerProcess;

/// A handle as C passes it.
#[repr(transparent)]
pub struct Handle<T>(*mut T, PhantomData<fn() -> T>);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}
impl<T> Plain for Handle<T> {}

/// A kind of objects that have handles.
pub trait Object: Sized + Send + Sync + 'static {
    /// The name of the kind in errors: `"producer"`.
    const NAME: &'static str;
    /// The number of the kind, less than [`KINDS`], different for each.
    const KIND: u64;
    /// Returns the table of these objects.
    fn table() -> &'static Table<Self>;
}

/// Declares a kind of objects, with its table.
macro_rules! object {
    ($type:ty, $name:literal, $kind:literal) => {
        impl crate::handles::Object for $type {
            const NAME: &'static str = $name;
            const KIND: u64 = $kind;
            fn table() -> &'static crate::handles::Table<Self> {
                static TABLE: crate::handles::Table<$type> = crate::handles::Table::new();
                &TABLE
            }
        }
    };
}
pub(crate) use object;

/// There are fewer kinds than this. A number is `serial * 2 * KINDS + kind * 2 + 1`: it is odd, and
/// the pointers that C knows are even.
const KINDS: u64 = 32;

/// The serial number of the next object of any kind. A forked child goes on where its parent was.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The objects of one kind. A forked child begins with none.
pub struct Table<T>(PerProcess<Book<T>>);

/// The objects of one kind in one process.
struct Book<T> {
    /// Objects with smaller serial numbers are those of an ancestor of the process.
    first: u64,
    objects: RwLock<BTreeMap<u64, Arc<T>>>,
}

impl<T> Default for Book<T> {
    fn default() -> Self {
        Book {
            first: NEXT.load(Ordering::SeqCst),
            objects: RwLock::default(),
        }
    }
}

impl<T: Object> Table<T> {
    /// Makes a table without objects.
    pub(crate) const fn new() -> Self {
        Table(PerProcess::new())
    }

    /// Returns the objects of this process.
    fn book(&'static self) -> &'static Book<T> {
        self.0.get()
    }
}

impl<T: Object> Handle<T> {
    /// Enters an object into the table, and returns its handle.
    pub fn new(object: T) -> Self {
        let book = T::table().book();
        let serial = NEXT.fetch_add(1, Ordering::SeqCst);
        let number = serial * 2 * KINDS + T::KIND * 2 + 1;
        book.objects.write().insert(number, Arc::new(object));
        Handle(
            std::ptr::without_provenance_mut(number as usize),
            PhantomData,
        )
    }

    /// Returns the object.
    pub fn get(self) -> Result<Arc<T>, Failure> {
        let book = T::table().book();
        let found = book.objects.read().get(&self.number()).cloned();
        found.ok_or_else(|| self.missing(book))
    }

    /// Returns the object, or `None` if C passed null.
    pub fn optional(self) -> Result<Option<Arc<T>>, Failure> {
        match self.0.is_null() {
            true => Ok(None),
            false => self.get().map(Some),
        }
    }

    /// Takes the object out of the table. Calls that use it at this moment go on.
    pub fn remove(self) -> Result<Arc<T>, Failure> {
        let book = T::table().book();
        let found = book.objects.write().remove(&self.number());
        found.ok_or_else(|| self.missing(book))
    }

    /// Takes all objects out of the table for which this holds.
    pub fn remove_all(gone: impl Fn(&T) -> bool) {
        let book = T::table().book();
        let mut objects = book.objects.write();
        let mut removed = Vec::new();
        objects.retain(|_, object| {
            let gone = gone(object);
            if gone {
                removed.push(object.clone());
            }
            !gone
        });
        drop(objects);
        // Dropped without the lock, because that may use the table.
        drop(removed);
    }

    /// Returns the number, which no other handle has.
    pub fn number(self) -> u64 {
        self.0.addr() as u64
    }

    /// Says why there is no such object.
    fn missing(self, book: &Book<T>) -> Failure {
        let (name, number) = (T::NAME, self.number());
        let serial = number / (2 * KINDS);
        if self.0.is_null() {
            return Failure::new(TCASM_INVALID_HANDLE, format!("the {name} is null"));
        }
        let known = number % 2 == 1 && (1..NEXT.load(Ordering::SeqCst)).contains(&serial);
        if !known || number / 2 % KINDS != T::KIND {
            let text = format!("{number:#x} is not the handle of a {name}");
            return Failure::new(TCASM_INVALID_HANDLE, text);
        }
        match serial < book.first {
            true => forked(name),
            false => Failure::new(TCASM_CLOSED, format!("the {name} was closed before")),
        }
    }
}

/// Returns the failure for an object of the parent process.
pub fn forked(name: &str) -> Failure {
    let text = format!("this process is a fork of the one that has the {name}; make one here");
    Failure::new(TCASM_FORKED, text)
}

/// Enters an object into the table and stores its handle. Fails before if that cannot be stored.
pub fn give<T: Object>(
    out: &Out<Handle<T>>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    out.check(&format!("the place for the {}", T::NAME))?;
    out.set(Handle::new(make()?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::TCASM_OK;
    use std::ffi::c_int;

    struct Thing(u32);
    struct Other;
    object!(Thing, "thing", 30);
    object!(Other, "other thing", 31);

    fn status<T>(result: Result<T, Failure>) -> c_int {
        result.map_or_else(Failure::remember, |_| TCASM_OK)
    }

    fn handle<T>(number: usize) -> Handle<T> {
        Handle(std::ptr::without_provenance_mut(number), PhantomData)
    }

    #[test]
    fn an_object_is_found_until_it_is_removed() {
        let thing = Handle::new(Thing(7));
        assert_eq!(thing.get().unwrap().0, 7);
        let in_use = thing.get().unwrap();
        assert_eq!(status(thing.remove()), TCASM_OK);
        assert_eq!(in_use.0, 7);
        assert_eq!(status(thing.get()), TCASM_CLOSED);
        assert_eq!(status(thing.remove()), TCASM_CLOSED);
    }

    #[test]
    fn objects_that_are_removed_together_are_closed() {
        let things = [20, 21, 22].map(|n| Handle::new(Thing(n)));
        Handle::<Thing>::remove_all(|thing| (20..22).contains(&thing.0));
        assert_eq!(status(things[0].get()), TCASM_CLOSED);
        assert_eq!(status(things[1].get()), TCASM_CLOSED);
        assert_eq!(things[2].get().unwrap().0, 22);
    }

    #[test]
    fn numbers_that_are_no_handles_are_refused() {
        let thing = Handle::new(Thing(1));
        let of_other_kind = Handle::new(Other);
        let others = [0, 1, 2, 0x7fff_0000_1000, usize::MAX, thing.0.addr() + 1];
        for number in others.into_iter().chain([of_other_kind.0.addr()]) {
            let status = status(handle::<Thing>(number).get());
            assert_eq!(status, TCASM_INVALID_HANDLE, "{number:#x}");
        }
        // A number that no object has yet.
        let later = thing.0.addr() + 1_000_000 * 2 * KINDS as usize;
        assert_eq!(status(handle::<Thing>(later).get()), TCASM_INVALID_HANDLE);
        assert!(thing.get().is_ok());
    }

    #[test]
    fn null_stands_for_an_object_that_is_not_given() {
        assert!(handle::<Thing>(0).optional().unwrap().is_none());
        assert_eq!(status(handle::<Thing>(8).optional()), TCASM_INVALID_HANDLE);
    }
}
