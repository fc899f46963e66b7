//! `tcasm view`: the live view in a browser.

use crate::args::ViewArgs;
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::Signals;
use std::net::SocketAddr;
use tcasm_core::place::check_name;
use tcasm_observer::{AttachError, Observer};
use tcasm_view::Options;
use tcasm_view::server::{Patience, ServeError, Server, Settings, token};

pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    look_for(&args.name, args.no_wait)?;
    let signals = Signals::catch()?;
    let token =
        token::token().map_err(|e| Failure::new(Code::Io, format!("no random token: {e}")))?;
    let server = Server::bind(Settings {
        name: args.name.clone(),
        address: args.bind,
        port: args.port,
        token,
        options: Options::default(),
        patience: Patience::default(),
    })?;
    output::text(&greeting(&args.name, &server))?;
    Ok(server.run(|| signals.end())?)
}

/// Whether the region is there. If not, it may come.
pub fn look_for(name: &str, no_wait: bool) -> Result<(), Failure> {
    check_name(name).map_err(AttachError::from)?;
    match Observer::attach(name) {
        Err(
            error @ (AttachError::NotFound { .. }
            | AttachError::Dead { .. }
            | AttachError::Ended { .. }),
        ) if !no_wait => {
            output::note(&format!("{error}\nwaiting for it (--no-wait: do not wait)"));
            Ok(())
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

fn greeting(name: &str, server: &Server) -> String {
    let (address, host): (SocketAddr, String) = (server.address(), host_name());
    let mut text = format!(
        "{name} can be looked at in a browser, until Ctrl-C:\n  {}\n",
        server.url(&host)
    );
    if address.ip().is_loopback() {
        let port = address.port();
        text += &format!(
            "from another machine: ssh -L {port}:{address} {host}, and the same address there\n"
        );
    } else {
        text += "anybody who can reach this address and knows the token can look; what is sent is not encrypted\n";
    }
    text
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "HOST".to_owned(),
        name => name.to_owned(),
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Failure::new(Code::Io, error.to_string())
    }
}
