//! Finds out which registrars work here, by registering one page with each.

use crate::registrar::{Memory, Registrar};
use crate::{Absent, Cuda, Ibverbs, IoUring, Mlock};
use tcasm_core::sys::mem::{Mapping, page_size};

/// A registrar, and why it cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The name of the registrar.
    pub registrar: &'static str,
    /// The reason, if it cannot be used.
    pub problem: Option<String>,
}

/// Tries all registrars. This loads the drivers that are installed, for the first device each.
pub fn probe() -> Vec<Verdict> {
    let verdict = |registrar, problem: Result<(), String>| Verdict {
        registrar,
        problem: problem.err(),
    };
    vec![
        verdict("mlock", try_one(Ok(Mlock::default()))),
        verdict("io_uring", try_one(IoUring::with_own_ring(1))),
        verdict("cuda", try_one(Cuda::load(0))),
        verdict("ibverbs", try_one(Ibverbs::load(0))),
    ]
}

fn try_one<R: Registrar>(registrar: Result<R, Absent>) -> Result<(), String> {
    let registrar = registrar.map_err(|absent| absent.to_string())?;
    let memory = Mapping::reserve(page_size()).map_err(|e| e.to_string())?;
    // SAFETY: nothing is borrowed from the reservation.
    #[allow(unsafe_code)]
    unsafe { memory.put_zero(0, memory.len(), true) }.map_err(|e| e.to_string())?;
    let range = memory.addr()..memory.addr() + memory.len();
    let handle = registrar.register(&range).map_err(|e| e.to_string())?;
    registrar.deregister(&range, &handle, Memory::Mapped);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrars_of_the_kernel_work_and_those_of_drivers_are_reported() {
        let verdicts = probe();
        let names: Vec<_> = verdicts.iter().map(|v| v.registrar).collect();
        assert_eq!(names, ["mlock", "io_uring", "cuda", "ibverbs"]);
        assert_eq!(verdicts[0].problem, None);
        for (verdict, library) in verdicts[2..].iter().zip(["libcuda", "libibverbs"]) {
            let reported = verdict.problem.as_ref().is_none_or(|p| p.contains(library));
            assert!(reported, "{verdict:?}");
        }
    }
}
