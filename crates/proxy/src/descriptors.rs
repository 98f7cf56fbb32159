//! The limit of open descriptors.

use recoup::console;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors besides those of connections: standard streams, epoll, the folder, the listener.
const OTHER_DESCRIPTORS: u64 = 32;

/// Raises the limit of open descriptors to what `wanted` connections need, `each` of which has so many. Returns how many
/// connections the system allows.
pub(crate) fn allowed_connections(wanted: u32, each: u64) -> usize {
    let needed = u64::from(wanted) * each + OTHER_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX).min(needed);
    let mut allowed = limit.current.unwrap_or(u64::MAX);
    if allowed < most && setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }).is_ok() {
        allowed = most;
    }
    let connections = (allowed.saturating_sub(OTHER_DESCRIPTORS) / each).clamp(1, wanted.into());
    if connections < wanted.into() {
        console::note(format_args!(
            "{connections} connections at a time, because this process may open {allowed} files (ulimit -n)"
        ));
    }
    usize::try_from(connections).unwrap_or(usize::MAX)
}
