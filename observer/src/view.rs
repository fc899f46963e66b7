//! Views: a version as one contiguous piece of memory, and typed access to it.

use crate::error::ViewError;
use crate::version::Version;
use crate::window::{Place, Window};
use ndarray::ArrayViewD;
use std::sync::Arc;
use tcasm_core::field::{self, Element, FieldDesc, Kind, RegionPtr};

/// A mapped version. It keeps the version pinned, and borrows from it live at most as long as the
/// view.
pub struct View {
    version: Version,
    /// The window, which other views of the version may share. `None` only while dropping.
    window: Option<Arc<Window>>,
}

impl Version {
    /// Maps the version as one contiguous piece of memory, at any free address. Views of the same
    /// version share the address and the memory.
    pub fn view(&self) -> Result<View, ViewError> {
        View::map(self.clone(), Place::Anywhere)
    }

    /// Maps the version at the producer's own address, so that plain pointers stored in it work.
    /// There can be such views of one version at a time.
    pub fn view_at_base(&self) -> Result<View, ViewError> {
        View::map(self.clone(), Place::Base)
    }
}

impl View {
    fn map(version: Version, place: Place) -> Result<Self, ViewError> {
        let window = version.windows().show(version.pin(), place)?;
        Ok(View {
            version,
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

    /// Returns all bytes of the region. Fails in a forked child: the pin is the parent's, which may
    /// release it at any time.
    fn memory(&self) -> Result<&[u8], ViewError> {
        match self.version.session().forked() {
            true => Err(ViewError::Forked),
            false => Ok(self.window().bytes()),
        }
    }

    /// Returns the address at which the region is mapped, in the process that made the view and not
    /// in its forked children.
    pub fn address(&self) -> usize {
        self.window().address()
    }

    /// Returns the description of a field.
    pub fn field(&self, name: &str) -> Result<&FieldDesc, ViewError> {
        self.version.field(name).ok_or_else(|| ViewError::NoField {
            name: name.to_owned(),
            available: self
                .version
                .table()
                .fields
                .iter()
                .map(|f| f.name.clone())
                .collect(),
        })
    }

    /// Returns the bytes of a field, as the producer laid them out.
    pub fn bytes(&self, name: &str) -> Result<&[u8], ViewError> {
        self.bytes_of(self.field(name)?)
    }

    /// Returns the bytes of a field of this view's version.
    pub fn bytes_of(&self, desc: &FieldDesc) -> Result<&[u8], ViewError> {
        let (memory, range) = (self.memory()?, desc.range());
        let bytes = memory.get(range.start as usize..range.end as usize);
        bytes.ok_or_else(|| ViewError::OtherRegion {
            name: desc.name.clone(),
            end: range.end,
            bytes: memory.len() as u64,
        })
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
        bytemuck::try_cast_slice(self.bytes_of(desc)?).map_err(|_| mismatch())
    }

    /// Follows a pointer that the producer stored in the region. Checks it, and translates it to
    /// the address of this view.
    pub fn deref<T: bytemuck::AnyBitPattern>(
        &self,
        pointer: RegionPtr<T>,
    ) -> Result<&T, ViewError> {
        let (memory, base) = (self.memory()?, self.version.session().info.base);
        let at = pointer
            .address()
            .checked_sub(base)
            .and_then(|at| usize::try_from(at).ok());
        let bytes = at.and_then(|at| memory.get(at..at.checked_add(size_of::<T>())?));
        bytes
            .and_then(|b| bytemuck::try_from_bytes(b).ok())
            .ok_or_else(|| ViewError::Pointer {
                address: pointer.address(),
                asked: std::any::type_name::<T>().to_owned(),
                base,
                end: base + memory.len() as u64,
            })
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
