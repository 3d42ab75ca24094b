//! `serve --kernel`: the same services on the kernel's own sockets.

use super::report;
use super::services::{self, Net};
use super::settings::Settings;
use crate::failure::Failure;
use crate::say::say;
use crate::zone::Zoned;
use std::time::Instant;
use tokio::signal::unix::{SignalKind, signal};

/// Serves until a signal ends it.
///
/// # Errors
/// If a port is taken.
pub(super) async fn serve(settings: &Settings, address: &Zoned) -> Result<(), Failure> {
    let listen =
        |kind| signal(kind).map_err(|e| Failure::refused(format!("cannot wait for signals: {e}")));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let mut user = listen(SignalKind::user_defined1())?;
    let of_kernel = address.of_kernel(0);
    let at = of_kernel.map_err(|why| Failure::refused(format!("--kernel {address}: {why}")))?;
    let net = Net::Kernel(at);
    if settings.args.services.0.is_empty() {
        return Err(Failure::refused(
            "--kernel serves nothing: name a service, such as --http 8080",
        ));
    }
    let (args, root) = (&settings.args, settings.root.as_ref());
    let tallies = services::bind(&net, &args.services, root, args.http_threads).await?;
    let started = Instant::now();
    let services = report::services(address, &tallies);
    say(format!("ready: {address} on the kernel's own sockets: {services}; Ctrl-C ends it"));
    let summary = |when| {
        let seconds = started.elapsed().as_secs_f64();
        say(format!("{when}: kernel for {seconds:.1} s\n{}", report::served(&tallies)).trim_end());
    };
    let mut input = std::pin::pin!(super::input_ends(settings.args.ends_with_input));
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => break,
            () = &mut input => break,
            _ = user.recv() => summary("so far"),
        }
    }
    summary("ended");
    Ok(())
}
