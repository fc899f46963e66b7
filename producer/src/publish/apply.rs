//! The last step of publish: applies what the capture policy decides to live memory.

use crate::dirty::Selection;
use crate::producer::Producer;

impl Producer {
    /// Lets the policy learn from the version that was just captured, and applies its answers:
    /// defers the capture of chunks, and shares cold ones with planes. Nobody may have written
    /// since the harvest. `sound` is the result of the harvest.
    #[allow(unsafe_code)]
    pub(crate) fn apply_policy(&mut self, selection: &Selection, sound: bool) {
        let observed = self.dirty.observed(selection);
        for pages in self.policy.choose_deferred(&observed) {
            // SAFETY: publish has `&mut self`, which excludes writers, and has just captured the
            // pages.
            if unsafe { self.live.defer(&pages) } {
                self.dirty.leave_to_gate(pages.clone());
                self.policy.deferred(&pages);
            }
        }
        if sound {
            self.share(selection);
        }
    }
}
