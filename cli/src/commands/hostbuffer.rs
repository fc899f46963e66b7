//! `tcasm hostbuffer serve`: the rendezvous of the hosts of jobs with host buffers.

use crate::args::{HostBufferAction, HostBufferArgs};
use crate::failure::{Code, Failure};
use crate::output;
use crate::signals::Signals;
use std::io;
use tcasm_hostbuffer::tcp::{Event, Secret, Server};

pub fn run(args: &HostBufferArgs) -> Result<(), Failure> {
    match args.action {
        HostBufferAction::Serve => serve(args),
    }
}

fn serve(args: &HostBufferArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let secret = Secret::read(&args.secret);
    let secret = secret.map_err(|e| failed(&format!("use the secret {:?}", args.secret), &e))?;
    let listening = |e: io::Error| failed(&format!("listen at {}", args.listen), &e);
    let server = Server::bind(&args.listen, args.hosts as usize, secret).map_err(listening)?;
    let address = server.address().map_err(listening)?;
    output::line(&format!("rendezvous of {} hosts at {address}", args.hosts))?;
    let print = |event| {
        // The hosts must agree even if nobody reads the output any more.
        let _ = output::line(&text(&event, args.hosts));
    };
    server.run(|| !signals.end(), print);
    Ok(())
}

fn failed(what: &str, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("cannot {what}: {error}"))
}

fn text(event: &Event, hosts: u32) -> String {
    match event {
        Event::Joined { job, host, here } => format!("{job}: {host} is there, {here} of {hosts}"),
        Event::Finished { job } => format!("{job}: the hosts have agreed or refused"),
        Event::Ended { job, why } => format!("{job}: ended: {why}"),
        Event::Refused { from, why } => format!("refused {from}: {why}"),
        _ => String::new(),
    }
}
