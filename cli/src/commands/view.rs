//! `tcasm view`: serves the live view for a browser.

use crate::args::ViewArgs;
use crate::failure::{Code, Failure};
use crate::mirror::{self, Mirror};
use crate::output;
use crate::plain::plain;
use crate::signals::Signals;
use crate::wait;
use tcasm_view::Options;
use tcasm_view::server::{Endpoint, FIRST_PORT, ServeError, Server, Settings, Timeouts, secret};

pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let mirror = mirror::of_group(&args.name)?;
    let region = mirror.as_ref().map_or(args.name.as_str(), Mirror::name);
    if !wait::expect(region, &args.wait, || signals.end(), output::note)? {
        return Ok(());
    }
    let server = Server::bind(Settings {
        name: region.to_owned(),
        mirrored: args.name.clone(),
        endpoint: endpoint(args),
        secret: secret::secret()
            .map_err(|e| Failure::new(Code::Io, format!("cannot get random numbers: {e}")))?,
        options: Options::default(),
        timeouts: Timeouts::default(),
    })?;
    output::text(&greeting(&args.name, &server))?;
    server.run(|| signals.end());
    Ok(())
}

fn endpoint(args: &ViewArgs) -> Endpoint {
    match &args.socket {
        Some(path) => Endpoint::Socket(path.clone()),
        None => Endpoint::Port {
            address: args.bind,
            port: args.port,
        },
    }
}

fn greeting(name: &str, server: &Server) -> String {
    let host = host_name();
    let mut text = format!(
        "open this address in a browser to see {name} (Ctrl-C ends the view):\n  {}\n",
        server.url(&host)
    );
    text += &match (server.address(), server.socket()) {
        (Some(address), _) if address.ip().is_loopback() => {
            let port = address.port();
            format!(
                "from another machine: run  ssh -L {port}:{address} {host}  there, \
                 and open the same address\n"
            )
        }
        (_, Some(path)) => format!(
            "on the machine of the browser, first run:  ssh -L {FIRST_PORT}:{} {host}\n",
            plain(&path.display().to_string())
        ),
        _ => "anybody who can reach this address and knows the token can see the region; \
              the connection is not encrypted\n"
            .to_owned(),
    };
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
