//! Captures that have no path.

use recoup_trace::read::{OpenedInput, ReadError};
use std::fmt::Debug;

/// A capture that has no path, such as a file in a browser, or one that is open already. It can be read more than once.
pub trait CaptureSource: Debug + Sync {
    /// Its name in messages, as a terminal may show it.
    fn name(&self) -> &str;

    /// Opens it at its beginning.
    ///
    /// # Errors
    /// If it cannot be read.
    fn open(&self) -> Result<OpenedInput<'_>, ReadError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{DEMO, DEMO_NAME, Input, Unwatched};
    use crate::explain::{ExplainedPage, PageRequest, explain_as_page};
    use recoup_trace::analyze::Settings;

    #[derive(Debug)]
    struct Bytes(&'static str, &'static [u8]);

    impl CaptureSource for Bytes {
        fn name(&self) -> &str {
            self.0
        }

        fn open(&self) -> Result<OpenedInput<'_>, ReadError> {
            OpenedInput::new(self.0, self.1)
        }
    }

    fn explained(input: Input<'_>) -> ExplainedPage {
        explain_as_page(input, PageRequest::default(), &Settings::default(), &Unwatched)
    }

    #[test]
    fn a_source_is_explained_as_a_file_is() {
        let found = explained(Input::Source(&Bytes(DEMO_NAME, DEMO)));
        let expected = explained(Input::Demo);
        assert!(expected.page.as_ref().is_some_and(|page| page.body.advice.is_some()));
        assert!(found.page == expected.page);
    }

    #[test]
    fn what_is_no_capture_is_named() {
        let failures = explained(Input::Source(&Bytes("c", b"text"))).failures;
        let expected = "c: not a capture: expected a pcap or pcapng capture, plain or compressed by gzip or zstd";
        assert_eq!(failures.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }
}
