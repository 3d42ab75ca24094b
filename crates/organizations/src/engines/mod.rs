//! What the organizations with packet processing engines share (Bohra and
//! Iftode 2007, "TCPServers").

pub mod scheduler;
