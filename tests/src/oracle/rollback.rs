//! The model of a rollback, byte by byte.

use super::Oracle;

impl Oracle {
    /// Gives every field the bytes that it has in version `number`, which must exist. Returns the
    /// step of the version and the number of pages written, or the names of the fields that the
    /// version lacks.
    pub fn rollback(&mut self, number: u64) -> Result<(u64, u64), Vec<String>> {
        self.reports.harvest();
        let version = self.expected(number).expect("a version that is there");
        let version = version.clone();
        let place = |name: &String| version.fields.iter().find(|(n, ..)| n == name);
        let lacking = self.fields.iter().map(|f| f.name.clone());
        let lacking: Vec<_> = lacking.filter(|name| place(name).is_none()).collect();
        if !lacking.is_empty() {
            return Err(lacking);
        }
        let mut pages = 0;
        for field in self.fields.clone() {
            let then = version.bytes(place(&field.name).expect("none is lacking"));
            for at in (0..then.len()).step_by(self.page) {
                let end = then.len().min(at + self.page);
                pages += u64::from(self.put_back(field.buffer, at, &then[at..end]));
            }
        }
        Ok((version.step, pages))
    }

    /// Writes `bytes` if they differ from the present ones. Returns true if they did.
    fn put_back(&mut self, buffer: usize, at: usize, bytes: &[u8]) -> bool {
        let range = at..at + bytes.len();
        if self.live(buffer)[range.clone()] == *bytes {
            return false;
        }
        let stored = self.pages_of(buffer, range);
        self.reports.stored.insert_range(stored);
        let start = self.buffers[buffer].start + at;
        self.live[start..start + bytes.len()].copy_from_slice(bytes);
        true
    }
}
