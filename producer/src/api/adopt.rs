//! Adopts arrays that the program had already, and releases them.

use crate::error::DefineError;
use crate::handles::Field;
use crate::producer::Producer;
use crate::table::{BufferInfo, FieldInfo, Memory};
use ndarray::IntoDimension;
use tcasm_core::field::{Element, FieldDesc};
use tcasm_core::track::Gone;

impl Producer {
    /// Makes an array that exists a field: `shape` elements from `pointer` on, in C order. It stays
    /// where it is, and nothing of its allocation changes. The program goes on computing in it by
    /// its own pointers, and publishes it like a field of the region. The region needs a range of
    /// pages for it, which the capacity must allow for (and up to 2 MiB more), but no memory.
    ///
    /// [`FieldBuilder::adopt`](crate::FieldBuilder::adopt) does the same for fields with an order,
    /// a unit, ghost layers and so on.
    ///
    /// The array is tracked by its pages. The first and the last page may hold other bytes too:
    /// they are compared in each version, and no version has the other bytes. Memory that cannot be
    /// tracked (shared mappings, reserved huge pages, memory that is registered with a userfaultfd
    /// of the program's own) is compared as a whole in each version. So is every adopted array if
    /// the tracker is not `uffd-async`.
    ///
    /// Call [`Producer::release`] before the array is freed, unmapped or moved. A program that
    /// forgets this loses the field: the next publish notices, the receipt names it, and the
    /// version says that it is lost. It does not notice that memory was freed which stays mapped,
    /// as small arrays on the heap do, and what is written there next is published. The same holds
    /// where other memory is mapped at the same address, if the array is compared.
    ///
    /// # Safety
    /// Until the field is released or lost, or the producer is dropped:
    /// - The bytes of the array belong to this program's live values of type `T`, which may be read
    ///   during every call of the producer. Nobody writes them meanwhile, from any thread.
    /// - While a view of the field exists ([`Producer::view_mut`], [`Producer::field_bytes_mut`]
    ///   and the others), the array is mapped, and the program accesses it by that view only. The
    ///   same holds during [`Producer::rollback`], which writes it, and nothing may be borrowed
    ///   from it.
    ///
    /// Memory that is unmapped while the producer runs is an error and not undefined behaviour,
    /// except for views.
    #[allow(unsafe_code)]
    pub unsafe fn adopt<T: Element, S: IntoDimension>(
        &mut self,
        name: &str,
        pointer: *mut T,
        shape: S,
    ) -> Result<Field<T, S::Dim>, DefineError> {
        let field = self.field(name, shape);
        // SAFETY: the caller makes the promises of `FieldBuilder::adopt`, which are the same.
        unsafe { field.adopt(pointer) }
    }

    /// Makes an array at `address` the field that `desc` describes, except for its offset, as
    /// [`Producer::adopt`] does. If the description has a capacity, the array has room for it.
    ///
    /// # Safety
    /// As for [`Producer::adopt`].
    #[allow(unsafe_code)]
    pub unsafe fn adopt_described(
        &mut self,
        desc: &FieldDesc,
        address: usize,
    ) -> Result<(), DefineError> {
        self.check_on(desc)?;
        let variable = desc.capacity.is_some();
        self.add_adopted(desc.at_capacity(), variable, address)?;
        Ok(())
    }

    /// Ends the adoption of an array. Its memory stays as it is, and is tracked no more. The next
    /// version has no such field, and older ones keep what they have. A lost field is removed from
    /// the next version as well.
    ///
    /// No version can have a mesh without its geometry. So a field that is the geometry of a mesh
    /// stays, and is lost until an array is adopted under its name.
    pub fn release(&mut self, name: &str) -> Result<(), DefineError> {
        self.check_usable()?;
        let field = self.number_of(name)?;
        let FieldInfo { desc, buffer } = &self.table.fields[field];
        let info = &self.table.buffers[*buffer];
        let (lost, pages) = (desc.lost, info.pages.clone());
        if !lost && !matches!(info.memory, Memory::Adopted(_)) {
            let name = name.to_owned();
            return Err(DefineError::NotAdopted { name });
        }
        self.table.release(field)?;
        if !lost {
            self.end_capture();
            self.dirty.leave(&pages);
            self.live.leave(&pages, false);
        }
        Ok(())
    }

    /// Returns the names of the fields that are lost: their memory was unmapped, moved or replaced
    /// before they were released. They are lost in every version from then on, until they are
    /// released, or an array is adopted under their name.
    pub fn lost(&self) -> impl Iterator<Item = &str> {
        let lost = self.table.named().filter(|f| f.desc.lost);
        lost.map(|f| f.desc.name.as_str())
    }

    /// Adds a field whose memory is the array at `address`. Returns the numbers of the field and of
    /// the buffer.
    pub(super) fn add_adopted(
        &mut self,
        mut desc: FieldDesc,
        variable: bool,
        address: usize,
    ) -> Result<(usize, usize), DefineError> {
        self.check_new(&desc.name)?;
        if variable {
            self.begin_length(&mut desc);
        }
        let bytes = desc.check()? as usize;
        desc.check_mesh()?;
        self.table.check_field(&desc)?;
        let page_size = self.live.span.page_size;
        let align = desc.align(page_size as u64);
        if !(address as u64).is_multiple_of(align) {
            let (name, offset) = (desc.name, address as u64);
            return Err(DefineError::Unaligned {
                name,
                offset,
                align,
            });
        }
        let end = address.saturating_add(bytes);
        let (pages, unknown) = self.live.adopt(&desc.name, address..end)?;
        let mut info = BufferInfo::new(pages.clone(), &desc, Memory::Adopted(address));
        info.desc.offset = (pages.start * page_size + address % page_size) as u64;
        let buffer = self.table.add_buffer(info);
        match self.add_field(desc, buffer) {
            Ok(field) => {
                self.dirty.adopt(pages, &unknown);
                Ok((field, buffer))
            }
            Err(error) => {
                self.table.buffers[buffer].memory = Memory::Gone;
                self.live.leave(&pages, false);
                Err(error)
            }
        }
    }

    /// Marks the fields as lost whose arrays are gone.
    pub(crate) fn lose(&mut self, gone: Vec<Gone>) {
        for Gone { pages, error } in gone {
            let Some(field) = self.table.adopted(&pages) else {
                continue;
            };
            let name = self.table.fields[field].desc.name.clone();
            log::warn!(
                "field {name:?} is lost: its memory was unmapped, moved or replaced ({error}); \
                 call release() before that, and adopt() with the new address after it"
            );
            self.table.lose(field);
            self.dirty.leave(&pages);
            self.live.leave(&pages, true);
            self.stream.lost.push(name);
        }
    }
}
