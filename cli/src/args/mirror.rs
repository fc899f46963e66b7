//! Arguments of `mirror`.

use clap::Args;

#[derive(Debug, Args)]
pub struct MirrorArgs {
    /// Address that `tcasm view` has printed on the other machine, with its token. `-` reads it
    /// from standard input, so that other users of this machine do not see it
    pub url: String,
    /// Name of the region or group there [default: the one that `tcasm view` shows]
    pub name: Option<String>,
}

pub const MIRROR_HELP: &str = "\
On the machine of the simulation:  tcasm view heat
On this one, through SSH:          ssh -L PORT:127.0.0.1:PORT HOST
                                   tcasm mirror 'http://127.0.0.1:PORT/#token=TOKEN'
The region has the same name here. All commands and programs that observe regions work with it. It
has the newest versions, as many as the connection can carry; only pages that have changed are sent.
Nothing is sent to the simulation. SIGINT or SIGTERM makes this program exit with status 0.";
