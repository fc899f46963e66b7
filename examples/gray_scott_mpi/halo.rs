//! The exchange of the planes at the ends of each part with the ranks beside it.

use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive_into;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use ndarray::{ArrayViewMut2, ArrayViewMut3, s};
use tcasm_examples::{Planes, Summary};

/// The neighbours of a rank. The grid is periodic, so the last rank is beside the first.
pub struct Halo<'w> {
    world: &'w SimpleCommunicator,
    planes: Planes,
}

impl<'w> Halo<'w> {
    /// Creates the exchange of a rank that has `planes`.
    pub fn new(world: &'w SimpleCommunicator, planes: Planes) -> Self {
        Halo { world, planes }
    }

    /// Returns the planes between the ghosts.
    pub fn inner<'a>(&self, cells: &'a mut ArrayViewMut3<'_, f64>) -> ArrayViewMut3<'a, f64> {
        cells.slice_mut(s![1..=self.planes.count, .., ..])
    }

    /// Sends the first and the last plane to the ranks beside this one, and fills the ghosts with
    /// theirs.
    pub fn exchange(&self, mut cells: ArrayViewMut3<'_, f64>) {
        let ranks = self.world.size();
        let rank = self.world.rank();
        let (below, above) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        let last = self.planes.count;
        let (from, to) = cells.multi_slice_mut((s![last, .., ..], s![0, .., ..]));
        self.pass(from, above, to, below);
        let (from, to) = cells.multi_slice_mut((s![1, .., ..], s![last + 1, .., ..]));
        self.pass(from, below, to, above);
    }

    /// Sends a plane to rank `receiver`, and receives one from rank `sender`.
    fn pass(
        &self,
        from: ArrayViewMut2<'_, f64>,
        receiver: i32,
        to: ArrayViewMut2<'_, f64>,
        sender: i32,
    ) {
        let (from, to) = (contiguous(from), contiguous(to));
        let process = |rank| self.world.process_at_rank(rank);
        send_receive_into(from, &process(receiver), to, &process(sender));
    }

    /// Returns the range of v and the checksums of the whole grid, of which this rank has `u` and
    /// `v`. All ranks call this together.
    pub fn summary(&self, u: ArrayViewMut3<'_, f64>, v: ArrayViewMut3<'_, f64>) -> Summary {
        let part = Summary::of_planes(u.view(), v.view(), self.planes.first);
        let (mut min, mut max, mut sums) = (0.0, 0.0, [0u64; 2]);
        let (low, high) = part.v_range;
        self.world
            .all_reduce_into(&low, &mut min, SystemOperation::min());
        self.world
            .all_reduce_into(&high, &mut max, SystemOperation::max());
        self.world
            .all_reduce_into(&part.sums[..], &mut sums[..], SystemOperation::sum());
        Summary {
            v_range: (min, max),
            sums,
        }
    }
}

fn contiguous<'a>(plane: ArrayViewMut2<'a, f64>) -> &'a mut [f64] {
    plane
        .into_slice()
        .expect("the last index is the fastest one in memory")
}
