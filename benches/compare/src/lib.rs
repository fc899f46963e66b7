//! TCASM side by side with other ways to show a simulation's memory to other processes.
//!
//! A *case* is one method, one workload, so many observers. It runs in processes of its own: a producer, which writes pages,
//! publishes and times both, and observers, which take every version they can get and compare it with a model. The
//! command `tcasm-compare` runs a list of cases, and makes a table, JSON and figures of their *rows*.
#![deny(unsafe_code)]

pub mod case;
pub mod failure;
pub mod figures;
pub mod gray_scott;
pub mod held;
pub mod methods;
pub mod plan;
pub mod roles;
pub mod row;
pub mod run;
pub mod score;
pub mod sys;
pub mod table;
pub mod workload;
