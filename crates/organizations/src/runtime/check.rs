//! What a setup needs to have before anything is started.

use crate::{Setup, StartError};
use net::Application;

/// Can `organization` of the catalog be started on as many processors as `setup`
/// says, with the queues that its devices have?
///
/// # Errors
/// [`StartError`], if not.
///
/// # Panics
/// If the catalog has no such organization.
pub(crate) fn check<A: Application>(
    setup: &Setup<A>,
    organization: &'static str,
) -> Result<(), StartError> {
    let entry = catalog::find(organization).expect("it is in the catalog");
    let processors = setup.processors;
    if processors == 0 || processors > entry.most_processors() {
        let allowed = if entry.single { "one processor" } else { "1 to 1024 processors" };
        return Err(StartError::Processors { organization, allowed, processors });
    }
    let needed = entry.queues_on(processors);
    if let Some(device) = setup.devices.iter().find(|device| device.queues.len() < needed) {
        let (device, queues) = (device.name.clone(), device.queues.len());
        return Err(StartError::Queues { device, queues, processors: needed });
    }
    Ok(())
}

/// Refuses a device with more queues than threads that would serve them, unless it
/// lets go of those that are closed: what comes up there would wait for ever.
///
/// # Errors
/// [`StartError::SurplusQueues`].
pub(crate) fn refuse_surplus<A: Application>(setup: &Setup<A>) -> Result<(), StartError> {
    let processors = setup.processors;
    let surplus = setup.devices.iter().find(|d| d.queues.len() > processors && !d.queues_detach);
    let Some(device) = surplus else { return Ok(()) };
    let (device, queues) = (device.name.clone(), device.queues.len());
    Err(StartError::SurplusQueues { device, queues, processors })
}
