//! System calls. This is the only folder with system calls, and it has most of the unsafe code.

pub mod closer;
pub mod copy;
pub mod dma;
pub mod file;
pub mod fork;
pub mod futex;
pub mod heap;
pub mod huge;
pub mod live;
pub mod lock;
pub mod mem;
pub mod numa;
pub mod object;
pub mod owner;
mod page;
pub mod pagemap;
pub mod presence;
pub mod process;
pub mod readable;
pub mod relocate;
pub mod reserved;
pub mod room;
pub mod section;
pub mod socket;
pub mod thread;
pub mod time;
pub mod uffd;
