//! The frame of every function: errors become statuses, and panics end here.

use crate::status::{Failure, TCASM_INTERNAL_ERROR, TCASM_OK};
use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `body`. Returns its status, and remembers the text of its failure.
///
/// A panic in Rust would end the program at the border. It is caught here, and is the status
/// `TCASM_INTERNAL_ERROR`. Objects that were in use are not used any more in a way that could be
/// unsound: they are safe code, which stays sound after a panic.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => TCASM_OK,
        Ok(Err(failure)) => failure.remember(),
        Err(panic) => internal(panic.as_ref()).remember(),
    }
}

fn internal(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = format!("a defect of TCASM: {}", text.unwrap_or("a panic"));
    Failure::new(TCASM_INTERNAL_ERROR, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{TCASM_CLOSED, tcasm_last_error};
    use std::ffi::CStr;

    fn last() -> String {
        // SAFETY: the function returns a text that is valid until its next call in this thread.
        unsafe { CStr::from_ptr(tcasm_last_error()) }
            .to_string_lossy()
            .into_owned()
    }

    #[test]
    fn a_panic_is_a_status_with_its_text() {
        assert_eq!(call(|| panic!("number {}", 7)), TCASM_INTERNAL_ERROR);
        assert!(last().contains("number 7"), "{}", last());
    }

    #[test]
    fn the_text_is_that_of_this_thread() {
        assert_eq!(
            call(|| Err(Failure::new(TCASM_CLOSED, "here"))),
            TCASM_CLOSED
        );
        std::thread::spawn(|| call(|| Err(Failure::other("there"))));
        assert_eq!(last(), "here");
        assert_eq!(call(|| Ok(())), TCASM_OK);
        assert_eq!(last(), "here");
    }
}
