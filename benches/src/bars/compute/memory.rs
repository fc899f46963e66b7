//! Memory that kernels run over, and the values in it.

use super::{ELEMENTS, IN_PAGE};
use crate::kernels::{cycle, link};
use crate::plain::{huge_array, small_array};
use crate::smaps;
use crate::workload::Random;
use ndarray::Array1;

/// The elements that a step writes.
pub(super) enum Change {
    /// No page.
    Nothing,
    /// The first element of each of these pages.
    Pages(Vec<usize>),
    /// All elements.
    All,
}

/// The values of the data: the links of a random cycle, with a mark that differs between steps.
pub(super) struct Values {
    pub(super) cycle: Vec<u32>,
    pub(super) mark: u64,
}

impl Values {
    pub(super) fn new(random: &mut Random) -> Self {
        let cycle = cycle(ELEMENTS as u32, random);
        Values { cycle, mark: 0 }
    }

    /// Changes all values. Those that are written from now on differ from those before.
    pub(super) fn renew(&mut self) {
        self.mark += 1;
    }

    /// Writes the current values of the elements that change.
    pub(super) fn write(&self, change: &Change, data: &mut [f64]) {
        match change {
            Change::Nothing => {}
            Change::Pages(pages) => {
                for first in pages.iter().map(|page| page * IN_PAGE) {
                    data[first] = link(self.cycle[first], self.mark);
                }
            }
            Change::All => {
                for (value, next) in data.iter_mut().zip(&self.cycle) {
                    *value = link(*next, self.mark);
                }
            }
        }
    }
}

/// Memory for the data.
pub(super) trait Memory {
    /// Returns the data.
    fn read(&self) -> &[f64];

    /// Returns the data, to change them in place.
    fn write(&mut self) -> &mut [f64];

    /// Writes the elements that a step changes.
    fn change(&mut self, change: &Change, values: &Values) {
        values.write(change, self.write());
    }

    /// Publishes the step, and waits until it is visible. Plain memory has nothing to publish.
    fn publish(&mut self) {}

    /// Returns the part of the data that is in huge pages.
    fn huge_part(&self) -> f64 {
        let data = self.read().as_ptr_range();
        let range = data.start as usize..data.end as usize;
        smaps::huge_part(&range).expect("the kernel lists mappings")
    }

    /// Returns the part of the data that is not in the state that is measured, if that is known.
    fn outside(&self) -> Option<f64> {
        None
    }
}

/// Memory of a program that has no region.
pub(super) struct Plain(Array1<f64>);

impl Plain {
    /// Returns memory with huge pages.
    pub(super) fn huge() -> Self {
        Plain(huge_array(ELEMENTS))
    }

    /// Returns memory without huge pages.
    pub(super) fn small() -> Self {
        Plain(small_array(ELEMENTS))
    }
}

impl Memory for Plain {
    fn read(&self) -> &[f64] {
        self.0.as_slice().expect("contiguous")
    }

    fn write(&mut self) -> &mut [f64] {
        self.0.as_slice_mut().expect("contiguous")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::chase;

    #[test]
    fn change_of_a_page_writes_its_first_element_and_keeps_the_cycle() {
        let elements = 2 * IN_PAGE;
        let mut values = Values {
            cycle: cycle(elements as u32, &mut Random(5)),
            mark: 0,
        };
        let mut data = vec![0.0; elements];
        values.write(&Change::All, &mut data);
        let before = data.clone();
        values.renew();
        values.write(&Change::Pages(vec![1]), &mut data);
        let changed: Vec<usize> = (0..elements).filter(|i| data[*i] != before[*i]).collect();
        assert_eq!(changed, [IN_PAGE]);
        assert_eq!(chase(&data, 7, elements), 7);
    }
}
