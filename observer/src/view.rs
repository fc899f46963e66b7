//! Views: a version as one contiguous piece of memory, and typed access to it.

use crate::error::ViewError;
use crate::part::{Part, SubArray, chunks_of};
use crate::version::Version;
use crate::window::{Place, Window};
use ndarray::ArrayViewD;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::field::{self, ArrayError, Element, FieldDesc, Kind, RegionPtr};
use tcasm_core::pageset::ChunkSet;

/// A mapped version. It keeps the version pinned, and borrows from it live at most as long as the
/// view.
pub struct View {
    version: Version,
    /// The chunks that this view gives access to. The window may show more.
    part: Part,
    /// The window, which other views of the version may share. `None` only while dropping.
    window: Option<Arc<Window>>,
}

impl Version {
    /// Maps the version as one contiguous piece of memory, at any free address. Views of the same
    /// version share the address and the memory.
    pub fn view(&self) -> Result<View, ViewError> {
        View::map(self.clone(), Place::Anywhere, Part::Whole)
    }

    /// Maps only some fields of the version. It costs what these fields cost, however large the
    /// rest of the region is.
    ///
    /// The view has the chunks (2 MiB) in which the fields lie. What else lies in these chunks can
    /// be read, too. Anything else is an error ([`ViewError::NotShown`]).
    pub fn view_of(&self, names: &[&str]) -> Result<View, ViewError> {
        let layout = *self.session().index()?.layout();
        let mut chunks = ChunkSet::new(layout.chunks);
        for name in names {
            let range = self.described(name)?.range();
            if range.is_empty() {
                continue; // there is nothing to map of a field of length 0
            }
            chunks.insert_range(chunks_of(&layout, &bytes(&range)));
        }
        View::map(self.clone(), Place::Anywhere, Part::of(chunks))
    }

    /// Maps only a sub-array of a field: one range of indices for each axis, ghost layers included,
    /// and all components. [`View::part`] returns the values.
    ///
    /// The view has the chunks (2 MiB) that hold these values. What else lies in these chunks can
    /// be read, too. Anything else is an error ([`ViewError::NotShown`]). Rows that lie more than a
    /// chunk apart take mappings of their own. If there are more than a thousand such pieces, the
    /// whole version is mapped.
    ///
    /// ```no_run
    /// # use tcasm_observer::{Version, ViewError};
    /// # fn print(version: &Version) -> Result<(), ViewError> {
    /// let corner = [0..8, 0..100, 0..100];
    /// let view = version.view_part("t", &corner)?;
    /// println!("{:?}", view.part::<f64>("t", &corner)?.mean());
    /// # Ok(())
    /// # }
    /// ```
    pub fn view_part(&self, name: &str, ranges: &[Range<usize>]) -> Result<View, ViewError> {
        let layout = *self.session().index()?.layout();
        let desc = self.described(name)?;
        check_there(desc)?;
        let chunks = SubArray::of(desc, ranges)?.chunks(&layout);
        View::map(self.clone(), Place::Anywhere, Part::of(chunks))
    }

    /// Maps the version at the producer's own address, so that plain pointers stored in it work.
    /// There can be such views of one version at a time.
    pub fn view_at_base(&self) -> Result<View, ViewError> {
        View::map(self.clone(), Place::Base, Part::Whole)
    }
}

/// Returns an error if the version has no values of the field.
fn check_there(desc: &FieldDesc) -> Result<(), ViewError> {
    match desc.lost {
        true => Err(ViewError::Lost {
            name: desc.name.clone(),
        }),
        false => Ok(()),
    }
}

/// Returns a range of bytes of a region. (A region has fewer than `isize::MAX` bytes.)
fn bytes(range: &Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}

impl View {
    fn map(version: Version, place: Place, part: Part) -> Result<Self, ViewError> {
        let window = version.windows().show(version.pin(), place, &part)?;
        Ok(View {
            version,
            part,
            window: Some(window),
        })
    }

    /// Returns the version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    fn window(&self) -> &Window {
        let window = self.window.as_deref();
        window.expect("a view has a window until it is dropped")
    }

    /// Returns an error in a forked child: the pin is the parent's, which may release it at any
    /// time.
    fn check_process(&self) -> Result<(), ViewError> {
        match self.version.session().forked() {
            true => Err(ViewError::Forked),
            false => Ok(()),
        }
    }

    /// Returns bytes of the region, if they are in this view. `what` says in errors what they are.
    fn memory(
        &self,
        range: Range<usize>,
        what: impl FnOnce() -> String,
    ) -> Result<&[u8], ViewError> {
        self.check_process()?;
        if range.is_empty() {
            return Ok(&[]);
        }
        let layout = *self.version.session().index()?.layout();
        let shown = self.part.has(chunks_of(&layout, &range));
        let bytes = shown.then(|| self.window().bytes(range)).flatten();
        bytes.ok_or_else(|| ViewError::NotShown { what: what() })
    }

    /// Returns the address at which the region is mapped, in the process that made the view and not
    /// in its forked children.
    pub fn address(&self) -> usize {
        self.window().address()
    }

    /// Returns the description of a field.
    pub fn field(&self, name: &str) -> Result<&FieldDesc, ViewError> {
        self.version.described(name)
    }

    /// Returns the bytes of a field, as the producer laid them out.
    pub fn bytes(&self, name: &str) -> Result<&[u8], ViewError> {
        self.bytes_of(self.field(name)?)
    }

    /// Returns the bytes of a field of this view's version.
    pub fn bytes_of(&self, desc: &FieldDesc) -> Result<&[u8], ViewError> {
        self.check_process()?;
        check_there(desc)?;
        let (range, all) = (desc.range(), self.version.extent().bytes);
        if range.end > all {
            return Err(ViewError::OtherRegion {
                name: desc.name.clone(),
                end: range.end,
                bytes: all,
            });
        }
        self.memory(bytes(&range), || format!("field {:?}", desc.name))
    }

    /// Returns a field as an array, ghost layers included. The last axis of a vector is its
    /// components.
    pub fn array<T: Element>(&self, name: &str) -> Result<ArrayViewD<'_, T>, ViewError> {
        let desc = self.field(name)?;
        Ok(field::view(desc, self.bytes_of(desc)?)?)
    }

    /// Returns a field as an array, without its ghost layers.
    pub fn interior<T: Element>(&self, name: &str) -> Result<ArrayViewD<'_, T>, ViewError> {
        let cut = field::interior(self.field(name)?);
        Ok(self.array::<T>(name)?.slice_move(cut.as_slice()))
    }

    /// Returns a sub-array of a field: one range of indices for each axis, ghost layers included.
    /// The last axis of a vector is its components. All values must be in the view, as they are in
    /// that of [`Version::view_part`] for the same ranges.
    pub fn part<T: Element>(
        &self,
        name: &str,
        ranges: &[Range<usize>],
    ) -> Result<ArrayViewD<'_, T>, ViewError> {
        self.check_process()?;
        let desc = self.field(name)?;
        check_there(desc)?;
        field::check_type::<T>(desc)?;
        let sub = SubArray::of(desc, ranges)?;
        let layout = *self.version.session().index()?.layout();
        if !self.part.has_all(&sub.chunks(&layout)) {
            let what = format!("part {ranges:?} of field {name:?}");
            return Err(ViewError::NotShown { what });
        }
        let values = self.window().values(&sub);
        values.ok_or_else(|| unusable(desc).into())
    }

    /// Returns raw structures of the producer's type `T`.
    pub fn raw<T: bytemuck::AnyBitPattern>(&self, name: &str) -> Result<&[T], ViewError> {
        let desc = self.field(name)?;
        let (stored, align) = match &desc.kind {
            Kind::Raw { type_name, align } => (type_name.clone(), *align),
            Kind::Array => (format!("an array of {}", desc.dtype), 0),
        };
        let fits = align == align_of::<T>() && desc.components == size_of::<T>();
        let mismatch = || ViewError::RawType {
            name: name.to_owned(),
            stored: format!("{stored} of {} bytes", desc.components),
            asked: std::any::type_name::<T>().to_owned(),
            size: size_of::<T>(),
        };
        if !fits {
            return Err(mismatch());
        }
        match self.bytes_of(desc)? {
            [] => Ok(&[]), // its address need not be aligned
            bytes => bytemuck::try_cast_slice(bytes).map_err(|_| mismatch()),
        }
    }

    /// Follows a pointer that the producer stored in the region. Checks it, and translates it to
    /// the address of this view.
    pub fn deref<T: bytemuck::AnyBitPattern>(
        &self,
        pointer: RegionPtr<T>,
    ) -> Result<&T, ViewError> {
        self.check_process()?;
        let (address, region) = (pointer.address(), self.version.extent());
        let error = || ViewError::Pointer {
            address,
            asked: std::any::type_name::<T>().to_owned(),
            base: region.base,
            end: region.base + region.bytes,
        };
        let start = address.checked_sub(region.base);
        let range = start.and_then(|at| Some(at..at.checked_add(size_of::<T>() as u64)?));
        let range = range.filter(|range| range.end <= region.bytes);
        let range = range.ok_or_else(error)?;
        let found = self.memory(bytes(&range), || format!("address {address:#x}"))?;
        bytemuck::try_from_bytes(found).map_err(|_| error())
    }
}

/// Returns the error for a field whose values are not aligned.
fn unusable(desc: &FieldDesc) -> ArrayError {
    ArrayError::BadBytes {
        name: desc.name.clone(),
        need: desc.bytes(),
        have: desc.bytes() as usize,
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // The last view that uses a window parks it.
        if let Some(window) = self.window.take().and_then(Arc::into_inner) {
            self.version.windows().park(window, self.version.session());
        }
    }
}

impl std::ops::Deref for View {
    type Target = Version;
    fn deref(&self) -> &Version {
        &self.version
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("version", &self.version)
            .field("address", &self.address())
            .finish()
    }
}
