//! Sets of steps that can be intersected, of limited size.

/// A set of at most `N` steps, or the set of all steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<const N: usize> {
    /// The steps in ascending order, or `None` for all.
    list: Option<Vec<u64>>,
}

impl<const N: usize> Steps<N> {
    /// The set of all steps: that of an agent without regions, which limits nobody.
    pub const ALL: Steps<N> = Steps { list: None };

    /// Returns the set of the `N` greatest of these steps.
    pub fn greatest(steps: impl IntoIterator<Item = u64>) -> Self {
        let mut list: Vec<u64> = steps.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        list.drain(..list.len().saturating_sub(N));
        Steps { list: Some(list) }
    }

    /// Returns the steps that are in both sets.
    pub fn common(self, other: &Self) -> Self {
        match (self.list, &other.list) {
            (None, _) => other.clone(),
            (list, None) => Steps { list },
            (Some(mut list), Some(other)) => {
                list.retain(|step| other.binary_search(step).is_ok());
                Steps { list: Some(list) }
            }
        }
    }

    /// Returns the steps in ascending order, or `None` if these are all steps.
    pub fn list(&self) -> Option<&[u64]> {
        self.list.as_deref()
    }

    /// Returns the greatest step, unless these are all steps or none.
    pub fn max(&self) -> Option<u64> {
        self.list.as_ref()?.last().copied()
    }

    /// Returns true if the set lists this step.
    pub fn lists(&self, step: u64) -> bool {
        let list = self.list.as_deref().unwrap_or_default();
        list.binary_search(&step).is_ok()
    }
}
