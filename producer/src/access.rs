//! The users that may attach.

/// The users who may attach.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Processes of the producer's own user (and root).
    #[default]
    SameUser,
    /// These users, by uid, besides the producer's own user and root. They must be able to enter
    /// the folder of the socket: set `TCASM_RUNTIME_DIR` to a folder that they can enter.
    Users(Vec<u32>),
    /// Every user who can reach the socket.
    Everyone,
}

impl Access {
    /// Returns true if user `uid` may attach to a producer of user `own`.
    pub(crate) fn allows(&self, uid: u32, own: u32) -> bool {
        let other = match self {
            Access::SameUser => false,
            Access::Users(list) => list.contains(&uid),
            Access::Everyone => true,
        };
        uid == own || uid == 0 || other
    }
}
