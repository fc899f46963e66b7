//! Compares TCASM with other ways to show a simulation's memory to other processes.
//!
//! A *case* is one method, one workload, and a number of observers. It runs in processes of its
//! own. The producer writes pages, publishes them, and measures the time of both. The observers
//! take every version that they can get and compare it with a model. The command `tcasm-compare`
//! runs a list of cases, and writes their results (*rows*) as a table, as JSON and as figures.
#![deny(unsafe_code)]

pub mod case;
pub mod check;
pub mod failure;
pub mod figures;
pub mod follow;
pub mod gray_scott;
pub mod held;
pub mod methods;
pub mod plan;
pub mod roles;
pub mod row;
pub mod run;
pub mod score;
pub mod simulation;
pub mod sys;
pub mod table;
pub mod user;
pub mod workload;
