//! What all families of organizations run on: how a thread receives, sends,
//! sleeps and is woken ([`worker`]), the transmitters that several threads share
//! (`transmitter`), and which units a call is for (`routing`).

pub(crate) mod routing;
pub(crate) mod transmitter;
pub mod worker;
