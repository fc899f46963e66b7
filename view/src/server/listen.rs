//! The endpoint at which the server listens: a port of this machine, or a Unix socket.

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket,
};
use nix::sys::stat::{Mode, fchmod};
use std::fs::{self, Metadata};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf, absolute};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// The endpoint at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A port of an address of this machine.
    Port {
        /// The address.
        address: IpAddr,
        /// The port; 0 for any free one. `None` for the first free one from [`FIRST_PORT`] on.
        port: Option<u16>,
    },
    /// The path of a Unix socket that only this user can connect to.
    Socket(PathBuf),
}

/// The first port that the server tries.
pub const FIRST_PORT: u16 = 8337;
/// Number of ports that the server tries.
const PORTS: u16 = 20;
/// Maximum number of connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// The reason why a server cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port is in use.
    #[error("port {port} of {address} is taken; give another one, or --port 0 for any")]
    Taken {
        /// The address.
        address: IpAddr,
        /// The port.
        port: u16,
    },
    /// All ports that the server tried are in use.
    #[error(
        "the ports {first} to {last} of {address} are taken; give another one, or --port 0 for any"
    )]
    AllTaken {
        /// The address.
        address: IpAddr,
        /// The first port that was tried.
        first: u16,
        /// The last port that was tried.
        last: u16,
    },
    /// The kernel refused to listen at this address and port.
    #[error(
        "cannot listen on {0}: {1}; \
         give an address of this machine, and a port that this user may use"
    )]
    Listen(SocketAddr, io::Error),
    /// Another program listens at the Unix socket with this path.
    #[error("another program listens at {0:?}; end it, or give another path")]
    SocketTaken(PathBuf),
    /// A file that is not a socket has this path.
    #[error("{0:?} exists and is not a socket; give another path")]
    NotASocket(PathBuf),
    /// The Unix socket with this path belongs to another user, with this id.
    #[error("{0:?} is the socket of user {1}; give another path")]
    SocketOfOther(PathBuf, u32),
    /// The kernel refused to make a Unix socket with this path, or to listen there.
    #[error(
        "cannot listen at {0:?}: {1}; \
         give a path of at most 107 bytes in a folder where this user may write"
    )]
    Socket(PathBuf, io::Error),
    /// The runtime could not be built, or the kernel gave no random bytes.
    #[error("cannot serve: {0}")]
    Serve(#[from] io::Error),
}

/// A socket that listens. The file of a Unix socket is removed when this value is dropped.
#[derive(Debug)]
pub enum Listener {
    Port(TcpListener, SocketAddr),
    Socket(UnixListener, SocketFile),
}

/// A connection over TCP or a Unix socket.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Listener {
    /// Listens at `endpoint`. It must be called in the context of the runtime.
    pub async fn bind(endpoint: &Endpoint) -> Result<Listener, ServeError> {
        match endpoint {
            Endpoint::Port { address, port } => {
                let listener = bind_port(*address, *port).await?;
                let address = listener.local_addr()?;
                Ok(Listener::Port(listener, address))
            }
            Endpoint::Socket(path) => {
                let (listener, file) = bind_socket(path)?;
                Ok(Listener::Socket(listener, file))
            }
        }
    }

    /// Accepts a connection.
    pub async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Listener::Port(listener, _) => Ok(Box::new(listener.accept().await?.0)),
            Listener::Socket(listener, _) => Ok(Box::new(listener.accept().await?.0)),
        }
    }

    /// Returns the place as text. It is the same after a restart.
    pub fn place(&self) -> String {
        match self {
            Listener::Port(_, address) => address.to_string(),
            Listener::Socket(_, file) => file.path.display().to_string(),
        }
    }

    /// Returns true if only this machine can reach the server, directly or as the end of a tunnel.
    pub fn is_local(&self) -> bool {
        match self {
            Listener::Port(_, address) => address.ip().is_loopback(),
            Listener::Socket(..) => true,
        }
    }
}

async fn bind_port(address: IpAddr, port: Option<u16>) -> Result<TcpListener, ServeError> {
    let (first, last) = port.map_or((FIRST_PORT, FIRST_PORT + PORTS - 1), |port| (port, port));
    for port in first..=last {
        let place = SocketAddr::new(address, port);
        match TcpListener::bind(place).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(ServeError::Listen(place, error)),
        }
    }
    Err(match port {
        Some(port) => ServeError::Taken { address, port },
        None => ServeError::AllTaken {
            address,
            first,
            last,
        },
    })
}

/// The file of a Unix socket.
#[derive(Debug)]
pub struct SocketFile {
    pub path: PathBuf,
    id: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Remove only the own file. If somebody removed that, another server may listen there now.
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| id(&meta) == self.id) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn id(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

fn bind_socket(path: &Path) -> Result<(UnixListener, SocketFile), ServeError> {
    let path = absolute(path).map_err(|error| ServeError::Socket(path.to_owned(), error))?;
    remove_stale(&path)?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => ServeError::SocketTaken(path.clone()),
        _ => ServeError::Socket(path.clone(), error),
    };
    let listener = listen_at(&path).map_err(failed)?;
    let meta = fs::symlink_metadata(&path).map_err(failed)?;
    let id = id(&meta);
    Ok((listener, SocketFile { path, id }))
}

/// Removes the socket that a killed server has left. Returns an error for any other file, and
/// leaves it there.
fn remove_stale(path: &Path) -> Result<(), ServeError> {
    let failed = |error| ServeError::Socket(path.to_owned(), error);
    let meta = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta.map_err(failed)?,
    };
    if !meta.file_type().is_socket() {
        return Err(ServeError::NotASocket(path.to_owned()));
    }
    if meta.uid() != nix::unistd::getuid().as_raw() {
        return Err(ServeError::SocketOfOther(path.to_owned(), meta.uid()));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        _ => Err(ServeError::SocketTaken(path.to_owned())),
    }
}

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // The file gets the mode of the socket, so other users cannot connect at any moment.
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    let address = match UnixAddr::new(path) {
        Err(Errno::ENAMETOOLONG) => Err(io::Error::other("the path is too long")),
        address => Ok(address?),
    }?;
    bind(socket.as_raw_fd(), &address)?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    UnixListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener as Other;
    use tokio::runtime::Builder;

    fn at(path: &Path) -> Result<Listener, ServeError> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Listener::bind(&Endpoint::Socket(path.to_owned())))
    }

    #[test]
    fn socket_has_mode_0600_and_is_removed_with_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("view");
        let listener = at(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        let told = at(&path).unwrap_err().to_string();
        assert!(told.contains("another program listens"), "{told}");
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn socket_of_killed_server_is_replaced_and_that_of_later_server_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("view");
        drop(Other::bind(&path).unwrap());
        let listener = at(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let _later = Other::bind(&path).unwrap();
        drop(listener);
        assert!(path.exists());
    }

    #[test]
    fn file_that_is_not_a_socket_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "precious").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for other in [&path, &link, &folder.path().to_owned()] {
            let told = at(other).unwrap_err().to_string();
            assert!(told.contains("is not a socket"), "{told}");
        }
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        for wrong in [
            folder.path().join("none/view"),
            folder.path().join("x".repeat(108)),
        ] {
            let told = at(&wrong).unwrap_err().to_string();
            assert!(told.contains("107 bytes"), "{told}");
        }
    }
}
