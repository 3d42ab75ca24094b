//! What all families of organizations run on: how a thread receives, sends,
//! sleeps and is woken ([`worker`]), and the transmitters that several threads
//! share (`transmitter`).

pub(crate) mod transmitter;
pub mod worker;
