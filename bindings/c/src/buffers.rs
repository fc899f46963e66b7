//! Double buffers, scratch memory, handed-over fields, and writes that no tracker sees.

use crate::border::{Count, List, Out, Text};
use crate::buffer::Buffer;
use crate::call::call;
use crate::constants::dtype;
use crate::handles::Handle;
use crate::producer::{Producer, address};
use crate::status::{Failure, TCASM_INVALID_ARGUMENT};
use std::ffi::{c_int, c_void};

/// Makes another buffer like that of field `name`, and stores its handle and its address. It and
/// its handle live as long as the region. `tcasm_bind` exchanges the two.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_buffer_like(
    producer: Handle<Producer>,
    name: Text,
    buffer: Out<Handle<Buffer>>,
    data: Out<*mut c_void>,
) -> c_int {
    call(|| {
        buffer.check("the place for the buffer")?;
        let name = name.get("the name of the field")?;
        let made = producer.with(|p| p.any_buffer_like(name))?;
        data.set(address(producer, made)?);
        buffer.set(Handle::new(Buffer::new(producer.number(), made)));
        Ok(())
    })
}

/// Makes scratch memory for values of a type and a shape, and stores its address. It lies in the
/// region and is filled with zeros. It is never captured, so observers never see it. It lives as
/// long as the region.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_scratch(
    producer: Handle<Producer>,
    dtype_number: c_int,
    rank: Count,
    shape: List<usize>,
    data: Out<*mut c_void>,
) -> c_int {
    call(|| {
        data.check("the place for the address")?;
        let shape = shape.get(&rank, "the shape")?;
        let dtype = dtype(dtype_number)?;
        let made = producer.with(|p| p.any_scratch(dtype, shape))?;
        data.set(address(producer, made)?);
        Ok(())
    })
}

/// Binds field `name` to `buffer`: the next publish takes the field from there. The handle then
/// stands for the buffer that the field was bound to before, whose address is stored in `data`:
/// compute the next step there.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_bind(
    producer: Handle<Producer>,
    name: Text,
    buffer: Handle<Buffer>,
    next: Out<Handle<Buffer>>,
    data: Out<*mut c_void>,
) -> c_int {
    call(|| {
        next.check("the place for the next buffer")?;
        let name = name.get("the name of the field")?;
        let old = producer.with(|p| {
            // No other thread binds or closes meanwhile.
            let old = p.bind_any(name, buffer.get()?.inner)?;
            // The buffer that the field has now is known by the name of the field.
            buffer.remove()?;
            next.set(Handle::new(Buffer::new(producer.number(), old)));
            Ok::<_, Failure>(old)
        })?;
        data.set(address(producer, old)?);
        Ok(())
    })
}

/// Begins the next rewriting of a handed-over field. Every element must be written before the next
/// publish: the content of the memory is undefined.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_rewrite(producer: Handle<Producer>, name: Text) -> c_int {
    call(|| {
        let name = name.get("the name of the field")?;
        let buffer = producer.with(|p| p.bound(name))?;
        producer.with(|p| p.rewrite_any(buffer))
    })
}

/// Begins the next rewriting of a handed-over buffer.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_rewrite_buffer(
    producer: Handle<Producer>,
    buffer: Handle<Buffer>,
) -> c_int {
    call(|| {
        let buffer = buffer.get()?.inner;
        producer.with(|p| p.rewrite_any(buffer))
    })
}

/// Marks `bytes` bytes of field `name`, from byte `offset` on, as written. Call this after a write
/// that no tracker sees: by a device, or through another mapping.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_mark_dirty(
    producer: Handle<Producer>,
    name: Text,
    offset: usize,
    bytes: usize,
) -> c_int {
    call(|| {
        let name = name.get("the name of the field")?;
        let end = offset.checked_add(bytes).ok_or_else(|| {
            let text = format!("{bytes} bytes from {offset} on are no range");
            Failure::new(TCASM_INVALID_ARGUMENT, text)
        })?;
        let buffer = producer.with(|p| p.bound(name))?;
        producer.with(|p| p.mark_dirty_any(buffer, offset..end))
    })
}

/// Declares that devices write field `name` from now on (RDMA, GPU, registered I/O buffers). The
/// field is captured whole in each version, inside publish. It cannot be handed over.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_register_dma(producer: Handle<Producer>, name: Text) -> c_int {
    call(|| {
        let name = name.get("the name of the field")?;
        let buffer = producer.with(|p| p.bound(name))?;
        producer.with(|p| p.register_dma_any(buffer))
    })
}
