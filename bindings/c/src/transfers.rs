//! Memory that a program declares, and that other processes of the machine read and write by
//! cookie.

use crate::attrs::Texts;
use crate::border::{Count, List, Out, Plain, Text, declared};
use crate::call::call;
use crate::constants::flag;
use crate::handles::{Handle, give, object};
use crate::status::{Failure, TCASM_NOT_READY};
use crate::version::Version;
use crate::waiting::seconds;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use tcasm_transfer::{Access, Allowed, Cookie, Declaration, Layout, LayoutError, Segment};

/// Peers may read.
pub const TCASM_READ: c_int = 1;
/// Peers may write.
pub const TCASM_WRITE: c_int = 2;
/// Peers may read and write.
pub const TCASM_READ_WRITE: c_int = 3;

/// Stands for declared memory, and is the right to use it: 16 random bytes. Send it to peers in any
/// way.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tcasm_cookie {
    /// The bytes.
    pub bytes: [u8; 16],
}
impl Plain for tcasm_cookie {}

/// A piece of memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tcasm_segment {
    /// The first byte.
    pub data: *mut c_void,
    /// The number of bytes.
    pub bytes: usize,
}
impl Plain for tcasm_segment {}

impl From<tcasm_segment> for Segment {
    fn from(segment: tcasm_segment) -> Self {
        Segment {
            addr: segment.data.expose_provenance(),
            len: segment.bytes,
        }
    }
}

impl From<Segment> for tcasm_segment {
    fn from(segment: Segment) -> Self {
        tcasm_segment {
            data: std::ptr::with_exposed_provenance_mut(segment.addr),
            bytes: segment.len,
        }
    }
}

/// Declares memory of this process, and serves peers from a thread of its own.
pub struct Owner {
    pub(crate) inner: Arc<tcasm_transfer::Owner>,
    texts: Texts,
}
object!(Owner, "owner", 8);

/// Begins to serve peers: those of this user, or with `everyone` = 1 those of all users, who still
/// need a cookie. `tcasm_owner_free` ends it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_owner_new(everyone: c_int, owner: Out<Handle<Owner>>) -> c_int {
    call(|| {
        let allowed = match flag(everyone.into(), "everyone")? {
            true => Allowed::Everyone,
            false => Allowed::SameUser,
        };
        give(&owner, || {
            Ok(Owner {
                inner: Arc::new(tcasm_transfer::Owner::create(allowed)?),
                texts: Texts::default(),
            })
        })
    })
}

/// Ends an owner and its connections, once no gathered memory uses it. Revoke the cookies before:
/// peers that are copying are not waited for.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_owner_free(owner: Handle<Owner>) -> c_int {
    call(|| owner.remove().map(drop))
}

/// Stores the address at which peers find an owner. It is valid until the owner ends.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_owner_address(owner: Handle<Owner>, address: Out<*const c_char>) -> c_int {
    call(|| {
        let owner = owner.get()?;
        let text = owner.inner.address().to_str();
        let text = text.ok_or_else(|| Failure::other("the folder of sockets is not UTF-8"))?;
        address.set(owner.texts.pointer(text));
        Ok(())
    })
}

/// Declares `count` pieces of live memory, which peers see as one sequence of bytes. `access` is
/// `TCASM_READ` and the like. With `once` = 1 the cookie ends after the first complete use.
///
/// Until `tcasm_revoke` has returned `TCASM_OK`, the memory must stay mapped and must not be used
/// for anything else. What peers read while it is written can be torn.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_declare(
    owner: Handle<Owner>,
    segments: List<tcasm_segment>,
    count: Count,
    access: c_int,
    once: c_int,
    cookie: Out<tcasm_cookie>,
) -> c_int {
    call(|| {
        let layout = layout_of(&segments, &count)?;
        declare(owner, declared(layout, access_of(access)?)?, once, &cookie)
    })
}

/// Declares a part of an array: `shape` and `strides` have `rank` values, the strides are in bytes
/// and may be negative. `data` is the address of the first element, which has `element` bytes. The
/// rules are those of `tcasm_declare`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_declare_array(
    owner: Handle<Owner>,
    data: *mut c_void,
    element: usize,
    rank: Count,
    shape: List<usize>,
    strides: List<i64>,
    access: c_int,
    once: c_int,
    cookie: Out<tcasm_cookie>,
) -> c_int {
    call(|| {
        let layout = array_layout(data, element, &rank, &shape, &strides)?;
        declare(owner, declared(layout, access_of(access)?)?, once, &cookie)
    })
}

/// Returns the layout of a list of segments.
pub(crate) fn layout_of(list: &List<tcasm_segment>, count: &Count) -> Result<Layout, Failure> {
    let segments = list.get(count, "the list of segments")?.iter();
    Layout::new(segments.map(|segment| Segment::from(*segment))).map_err(wrong)
}

/// Returns the layout of a part of an array.
pub(crate) fn array_layout(
    data: *mut c_void,
    element: usize,
    rank: &Count,
    shape: &List<usize>,
    strides: &List<i64>,
) -> Result<Layout, Failure> {
    let shape = shape.get(rank, "the shape")?;
    let strides = strides.get(rank, "the list of strides")?;
    let strides: Vec<isize> = strides.iter().map(|s| *s as isize).collect();
    Layout::strided(data.expose_provenance(), element, shape, &strides).map_err(wrong)
}

pub(crate) fn wrong(layout: LayoutError) -> Failure {
    Failure::argument(layout.to_string())
}

pub(crate) fn access_of(access: c_int) -> Result<Access, Failure> {
    match access {
        TCASM_READ => Ok(Access::Read),
        TCASM_WRITE => Ok(Access::Write),
        TCASM_READ_WRITE => Ok(Access::ReadWrite),
        _ => Err(Failure::argument(format!("{access} is no access"))),
    }
}

/// Declares memory, and stores the cookie.
pub(crate) fn declare(
    owner: Handle<Owner>,
    declared: Declaration,
    once: c_int,
    cookie: &Out<tcasm_cookie>,
) -> Result<(), Failure> {
    cookie.check("the place for the cookie")?;
    let declared = match flag(once.into(), "once")? {
        true => declared.once(),
        false => declared,
    };
    cookie.set(stored(owner.get()?.inner.declare(declared)?));
    Ok(())
}

pub(crate) fn stored(cookie: Cookie) -> tcasm_cookie {
    tcasm_cookie {
        bytes: cookie.to_bytes(),
    }
}

/// Declares a field of a version for reading. The version stays pinned until the cookie is revoked,
/// also if it is released meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_declare_field(
    owner: Handle<Owner>,
    version: Handle<Version>,
    name: Text,
    cookie: Out<tcasm_cookie>,
) -> c_int {
    call(|| {
        let name = name.get("the name of the field")?;
        let declared = Declaration::field(version.get()?.live()?, name)?;
        declare(owner, declared, 0, &cookie)
    })
}

/// Makes a cookie of `tcasm_declare_field` stand for a field of a newer version. Peers that are
/// reading the old one read it to its end.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_declared_field(
    owner: Handle<Owner>,
    cookie: List<tcasm_cookie>,
    version: Handle<Version>,
    name: Text,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        let name = name.get("the name of the field")?;
        let newer = Declaration::field(version.get()?.live()?, name)?;
        Ok(owner.get()?.inner.set_version(cookie, newer)?)
    })
}

/// Ends a cookie, and waits until no transfer uses it, for up to `timeout` seconds. If one still
/// does, returns `TCASM_NOT_READY`: the memory must be left alone, and the call repeated.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_revoke(
    owner: Handle<Owner>,
    cookie: List<tcasm_cookie>,
    timeout: f64,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        match owner.get()?.inner.revoke(cookie, seconds(timeout)?) {
            true => Ok(()),
            false => {
                let text = "a peer still uses the memory: leave it alone, and revoke it again";
                Err(Failure::new(TCASM_NOT_READY, text))
            }
        }
    })
}

pub(crate) fn given(cookie: &List<tcasm_cookie>) -> Result<Cookie, Failure> {
    let [cookie] = cookie.array::<1>("the cookie")?;
    Ok(Cookie::from_bytes(cookie.bytes))
}
