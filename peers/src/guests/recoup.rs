//! Recoup's own stack, with a profile of loss recovery.

use recoup_guest::{Failed, Setup};
use recoup_stack::guest::OneConnection;

/// A host with this profile, with the buffers that other guests have.
pub fn with_profile(setup: &Setup, profile: &str) -> Result<OneConnection, Failed> {
    let mut setup = setup.clone();
    for (option, value) in [("profile", profile), ("send-buffer", "1048576"), ("receive-buffer", "1048576")] {
        setup.options.entry(option.into()).or_insert_with(|| value.into());
    }
    OneConnection::new(&setup)
}
