//! The web server on the stack's own threads.

use super::net::Net;
use super::{Context, WEB};
use crate::failure::Failure;
use crate::http;
use crate::tally::Tally;
use anabranch::tokio::TcpStream;
use anabranch::unit;
use std::future::poll_fn;
use std::io;
use std::net::Ipv6Addr;
use std::pin::pin;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Whose threads serve requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Threads {
    /// The stack's: a request is served where its connection is
    Own,
    /// Those of a pool, to which the stack hands requests over
    Pool,
}

/// Serves the web server of `at` on the units of the stack from now on.
///
/// # Errors
/// If the port is taken, or the units have no threads.
pub(super) fn web(net: &Net, port: u16, at: Arc<Context>) -> Result<(), Failure> {
    // The kernel has none; the arguments exclude each other.
    let Net::Stack(stack) = net else { return Ok(()) };
    // Files are read by its threads.
    let runtime = Handle::current();
    let handler = move |stream, _| {
        let (at, runtime) = (at.clone(), runtime.clone());
        async move {
            let mut connection = pin!(connection(stream, at.clone()));
            let served = poll_fn(|cx| {
                let _context = runtime.enter();
                connection.as_mut().poll(cx)
            });
            if served.await.is_err() {
                Tally::add(&at.tally.errors, 1);
            }
        }
    };
    let server = unit::serve(stack, (Ipv6Addr::UNSPECIFIED, port), handler);
    let server = server.map_err(|error| {
        Failure::refused(format!("cannot serve --{WEB} {port}: {error}: choose another port"))
    })?;
    // It listens until the runtime ends.
    tokio::spawn(async move {
        let _server = server;
        std::future::pending::<()>().await;
    });
    Ok(())
}

async fn connection(stream: TcpStream, at: Arc<Context>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let tally = at.tally.clone();
    let served = http::serve_by(unit::rt::Timer, stream, at, tally).await;
    served.map_err(io::Error::other)
}
