use super::virtual_processors;
use crate::{Instruments, load};
use std::sync::Arc;

/// With a burst of one packet, each packet that comes up enters its virtual
/// processor by itself, whether somebody measures or not.
#[test]
fn virtual_processors_yield_after_a_burst_under_instruments() {
    let instruments = Instruments::new();
    let before = instruments.snapshot();
    // Counts are read through the stack, so it is kept until they are.
    let mut stack = None;
    let packets = load::transfer(false, 400_000, 1, |mut setup| {
        Arc::get_mut(&mut setup.config).expect("not shared yet").burst = 1;
        setup.options.virtual_processors = 1;
        setup.instruments = Some(instruments.clone());
        let started = virtual_processors::start(setup)?;
        stack = Some(started.clone());
        Ok(started)
    });
    let report = instruments.snapshot().since(&before);
    let semaphore = report.locks.iter().find(|lock| lock.name == "group").expect("it is counted");
    assert!(semaphore.uses >= packets, "{} uses for {packets} packets", semaphore.uses);
}
