//! What was read of a trace, and what limits its findings.

/// Counts of a trace of QUIC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QlogCounts {
    /// Traces in the file.
    pub traces: u64,
    /// A version that is not known. Its events are read all the same, as far as they have known names.
    pub unknown_version: Option<String>,
    /// Records and events that could not be read.
    pub unreadable: u64,
    /// The event before the first of them.
    pub first_unreadable: Option<u64>,
    /// Events that are earlier than the one before.
    pub set_back: u64,
    /// Connections whose trace does not show which packets were acknowledged.
    pub without_acks: u64,
}

impl QlogCounts {
    /// One line for each limit. `packets`: those of all connections.
    pub(crate) fn notes(&self, packets: u64) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(version) = &self.unknown_version {
            notes
                .push(format!("qlog version {version:?} is not known: events are read by the names of other versions"));
        }
        if let Some(before) = self.first_unreadable {
            notes.push(format!(
                "left out {} that cannot be read, the first after event {before}",
                self.unreadable_events()
            ));
        }
        if self.set_back > 0 {
            notes.push(format!(
                "{} earlier than the event before: taken as simultaneous with it",
                events_are(self.set_back)
            ));
        }
        if self.without_acks > 0 {
            let connections = match self.without_acks {
                1 => "1 connection".into(),
                n => format!("{n} connections"),
            };
            notes.push(format!(
                "the trace does not show which packets of {connections} were acknowledged: verdicts are unknown"
            ));
        }
        if packets == 0 {
            notes.push("the trace contains no packets of QUIC".into());
        }
        notes
    }

    fn unreadable_events(&self) -> String {
        match self.unreadable {
            1 => "1 event".into(),
            n => format!("{n} events"),
        }
    }
}

fn events_are(count: u64) -> String {
    match count {
        1 => "1 event is".into(),
        n => format!("{n} events are"),
    }
}
