//! Random sequences of calls, once with the stack at one end and Linux at the other, and once
//! with Linux at both: what applications see has to be the same.
//!
//! A [`Script`] follows from a seed. Its steps are made by one thread, in order, at one end
//! or the other; a step is over when its effect is settled (what is read has been written, an
//! error that has to come has come), so that neither loss nor the time that anything takes
//! changes what is seen. Only such steps are in a script. What each step saw is a line of
//! text ([`play()`]).
#![forbid(unsafe_code)]

mod end;
mod play;
mod script;
mod state;
mod world;

pub use end::{Ear, End};
pub use play::play;
pub use script::{Script, Step, What};
pub use world::{Kernels, Ours, World};
