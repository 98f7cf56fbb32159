//! Studies other parameters of loss detection in captures: `recoup whatif --study` without its arguments and its
//! printing.

use crate::commands::analyze::call::Captures;
use crate::commands::whatif::call::{Input, ReadTwice, RerunProgress, read_all};
use recoup_captures::analysis::{AnalysisError, Analyzed};
use recoup_captures::parameters::{ParameterStudy, Request, SenderRow, study_capture, study_stream};
use recoup_captures::whatif::Watch;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Counts, PacketSource, ReadError};

/// Takes each sender that was studied, with the name of its capture.
pub type TakesRows<'a> = dyn FnMut(&str, &SenderRow<'_>) + 'a;

/// Studies the senders of captures. A capture that cannot be read does not keep the others from being studied.
pub fn study_all(
    input: Input<'_>,
    request: &Request,
    settings: &Settings,
    progress: &dyn RerunProgress,
    takes: &mut TakesRows<'_>,
) -> Captures<ParameterStudy> {
    let mut studies = Studies { request, settings, takes };
    read_all(input, progress, &mut studies)
}

struct Studies<'a, 'b> {
    request: &'a Request,
    settings: &'a Settings,
    takes: &'a mut TakesRows<'b>,
}

impl ReadTwice for Studies<'_, '_> {
    type Found = ParameterStudy;

    fn capture<S: PacketSource, T: PacketSource>(
        &mut self,
        name: &str,
        first: S,
        again: impl FnOnce(Counts) -> Result<T, ReadError>,
        watch: Watch<'_>,
    ) -> Result<Analyzed<ParameterStudy>, AnalysisError> {
        let (request, settings) = (self.request, self.settings);
        let mut takes = |row: &SenderRow<'_>| (self.takes)(name, row);
        study_capture(name, first, again, request, settings, watch, &mut takes)
    }

    fn stream<S: PacketSource>(
        &mut self,
        name: &str,
        source: S,
        watch: Watch<'_>,
    ) -> Result<Analyzed<ParameterStudy>, AnalysisError> {
        let mut takes = |row: &SenderRow<'_>| (self.takes)(name, row);
        study_stream(name, source, self.request, self.settings, watch, &mut takes)
    }
}
