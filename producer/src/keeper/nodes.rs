//! Notices live memory that has moved to another node of memory. Memory of free frames follows it.

use tcasm_core::store::Store;
use tcasm_core::sys::lock::Lock;

/// Asks where some chunks of live memory lie. Does nothing on a machine with one node. Logs the
/// reason when the kernel refuses for the first time, and sets `logged`.
pub(super) fn follow(store: &Lock<Store>, logged: &mut bool) {
    let question = store.lock().nodes_to_ask();
    if let Some(question) = question {
        // The lock is not held here: the call takes as long as there are pages to ask for.
        let answer = question.ask();
        store.lock().follow(answer);
    }
    if *logged {
        return;
    }
    let refused = store.lock().nodes_refused().map(str::to_owned);
    if let Some(reason) = refused {
        log::warn!("memory of versions is not placed on nodes: {reason}; see tcasm doctor");
        *logged = true;
    }
}
