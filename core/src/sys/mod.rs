//! The only folder with system calls, and most of the unsafe code.
