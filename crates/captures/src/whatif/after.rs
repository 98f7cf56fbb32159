//! Reruns of what a first view of all captures suggests.

use super::answer::Answer;
use super::candidates::{Candidates, Sample};
use super::read::{Request, rerun_candidates};
use crate::analysis::{Collector, Vantages, View, analyze_all};
use crate::capture::{Captures, Input, Progress};
use recoup_trace::analyze::{Findings, Settings};
use recoup_trace::finding::{Connection, Retransmission, Revision};

/// What a view of a capture shows, and what reruns of its connections predict.
#[derive(Debug)]
pub struct WithAnswer<V> {
    /// The view.
    pub view: V,
    /// The prediction; `None` if nothing was to be tried, or the capture is a stream, which can be read only once.
    pub answer: Option<Answer>,
    candidates: Candidates,
}

/// Analyzes captures, and then runs the connections of each again with what `request` makes of all views. `view` makes a view
/// for each thread.
pub fn what_if_after<V: Collector>(
    input: Input<'_>,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> V,
    request: impl FnOnce(&[&V]) -> Option<Request>,
) -> Captures<WithAnswer<V>> {
    let both = || WithAnswer { view: view(), answer: None, candidates: Candidates::new(Sample::default()) };
    let mut all = analyze_all(input, settings, progress, both);
    let views: Vec<&V> = all.analyzed.iter().map(|one| &one.findings.view).collect();
    let Some(request) = request(&views) else {
        return all;
    };
    for analyzed in &mut all.analyzed {
        let Some(again) = input.again(&analyzed.capture, settings) else {
            continue;
        };
        let reruns = |done, all| progress.reruns(done, all);
        let answer = rerun_candidates(analyzed, &analyzed.findings.candidates, &again, &request, settings, &reruns);
        progress.capture_ends();
        // A capture that cannot be read again has no prediction.
        analyzed.findings.answer = answer.ok();
    }
    all
}

impl<V: Findings> Findings for WithAnswer<V> {
    fn connection(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.candidates.connection(connection.clone(), rows);
        self.view.connection(connection, rows);
    }

    fn revision(&mut self, revision: &Revision) {
        self.candidates.revision(revision);
        self.view.revision(revision);
    }
}

impl<V: View> View for WithAnswer<V> {
    fn connections(&self) -> u64 {
        self.view.connections()
    }

    fn vantages(&self) -> &Vantages {
        self.view.vantages()
    }
}

impl<V: Collector> Collector for WithAnswer<V> {
    fn merge(&mut self, other: Self) {
        self.view.merge(other.view);
        self.candidates.merge(other.candidates);
    }

    fn order(&mut self) {
        self.view.order();
        self.candidates.order();
    }
}
