//! Arrays that the program had already, adopted in place: versions have their bytes and none
//! beside them, and an array that goes away without a word is lost by name.

mod contents;
mod lost;
mod memory;
mod pages;
