//! Messages of the ranks that look for a checkpoint together.

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use tcasm_checkpoint::job::{Lost, Messages};

/// The ranks of a communicator. `send` may wait for its receiver, which the search for a checkpoint
/// allows. MPI ends the job if a message cannot be sent.
pub struct Letters(pub SimpleCommunicator);

impl Messages for Letters {
    fn node(&self) -> usize {
        self.0.rank() as usize
    }

    fn nodes(&self) -> usize {
        self.0.size() as usize
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Lost> {
        self.0.process_at_rank(to as i32).send(&message[..]);
        Ok(())
    }

    fn receive(&mut self, from: usize) -> Result<Vec<u8>, Lost> {
        Ok(self.0.process_at_rank(from as i32).receive_vec().0)
    }
}
