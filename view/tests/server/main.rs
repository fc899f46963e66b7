//! The server against real producers, seen by pages that are programs: what they get is what was published, and what they do wrong
//! hurts nobody else.

mod flood;
mod frames;
mod greeting;
mod page;
mod refused;
mod runs;
mod slow;
