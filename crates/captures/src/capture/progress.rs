//! The progress of reading captures.

/// Follows the reading of captures, and may end it. Calls come from any thread.
pub trait Progress: Sync {
    /// A capture is opened. `size` is its size in bytes, if it is known.
    fn capture_begins(&self, name: &str, size: Option<u64>);

    /// This many bytes of the capture are read. A second reading begins at 0 again.
    fn bytes_read(&self, bytes: u64);

    /// Of the connections that are run again or studied, this many are done, of this many.
    fn rerun(&self, _done: u64, _all: u64) {}

    /// The capture is analyzed, or cannot be.
    fn capture_ends(&self);

    /// Whether to read no further. What was read is analyzed.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl dyn Progress + '_ {
    /// Reports the bytes read. Returns whether to read on.
    pub fn reads(&self, bytes: u64) -> bool {
        self.bytes_read(bytes);
        !self.is_stopped()
    }

    /// Reports the connections that are done. Returns whether to go on.
    pub(crate) fn reruns(&self, done: u64, all: u64) -> bool {
        self.rerun(done, all);
        !self.is_stopped()
    }
}

/// Nobody follows the reading, and nobody ends it.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn capture_begins(&self, _: &str, _: Option<u64>) {}

    fn bytes_read(&self, _: u64) {}

    fn capture_ends(&self) {}
}
