//! Reads two captures, each twice: to analyze its connections, and to follow their requests.

use super::Comparison;
use super::cells::{Cells, Place};
use super::collect::{Collected, Read};
use super::exchanges::{Complete, Exchange, Tracker};
use super::prediction::{Expectation, Predicted};
use super::sums::{Class, Sums, Timed, class_port, size_class};
use crate::analysis::{AnalysisError, Analyzed};
use crate::capture::{Capture, Input, Progress};
use crate::reread::{Sought, TakesPackets, read_connections};
use crate::whatif::what_if;
use recoup_trace::analyze::Settings;
use recoup_trace::read::CapturedPacket;
use recoup_units::{Direction, Instant};
use std::collections::HashMap;

/// Why there is no prediction.
const NOT_RERUN: &str = "nothing is predicted: no connection could be run again (recoup whatif says why)";

/// Compares two captures. Each of `before` and `after` is one capture.
///
/// # Errors
/// A capture that cannot be read, or not a second time.
pub fn compare(
    before: Input<'_>,
    after: Input<'_>,
    expectation: Option<&Expectation>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Comparison, AnalysisError> {
    let collect = |input: Input<'_>| {
        // A file that is left out of many would make a difference of its own.
        let all = input.each(progress, |capture| collect(capture, settings, progress));
        match (all.failures.into_iter().next(), all.analyzed.into_iter().next()) {
            (None, Some(collected)) => Ok(collected),
            (Some(failure), _) => Err(failure),
            (None, None) => input.first(progress, |capture| collect(capture, settings, progress)),
        }
    };
    let mut collected = [collect(before)?, collect(after)?];
    let predicted = match expectation {
        None => None,
        Some(Expectation::Document(predicted)) => Some(predicted.clone()),
        Some(Expectation::Rerun(request)) => {
            let answer = before.first(progress, |capture| what_if(capture, request, settings, progress))?;
            let predicted = Predicted::of_answer(&answer);
            if predicted.is_none() {
                collected[0].findings.notes.push(NOT_RERUN.into());
            }
            predicted
        }
    };
    Ok(Comparison::new(collected, predicted))
}

fn collect(
    capture: Capture<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<Collected>, AnalysisError> {
    let (mut analyzed, again) = capture.analyze_first(settings, Collected::default, progress)?;
    let read = std::mem::take(&mut analyzed.findings.read);
    let mut cells = std::mem::take(&mut analyzed.findings.cells);
    let mut following = Following { read: &read, open: HashMap::new(), cells: &mut cells };
    let sought: Vec<&Sought> = read.iter().map(|read| &read.sought).collect();
    again.read(&analyzed, &|bytes| progress.reads(bytes), |source, go_on| {
        read_connections(source, &sought, &mut following, go_on);
    })?;
    analyzed.findings.cells = cells;
    analyzed.findings.notes.extend(again.kept_note("are searched for requests"));
    Ok(analyzed)
}

/// Follows connections through their packets, and adds the times of their requests.
struct Following<'a> {
    read: &'a [Read],
    open: HashMap<usize, Tracker>,
    cells: &'a mut Cells,
}

impl Following<'_> {
    fn add_exchange(&mut self, connection: usize, exchange: &Exchange) {
        let place = self.place(connection, exchange.begun);
        let class = |timed| self.class(connection, timed, [exchange.request, exchange.response]);
        let (request, wait) = (class(Timed::Request), class(Timed::Wait));
        self.cells.add(place, &Sums::of_time(request, exchange.time));
        if let Some(time) = exchange.wait {
            self.cells.add(place, &Sums::of_time(wait, time));
        }
    }

    fn add_complete(&mut self, connection: usize, complete: &Complete) {
        let timed = Timed::Connection { suits: self.read[connection].suits };
        let place = self.place(connection, complete.begun);
        self.cells.add(place, &Sums::of_time(self.class(connection, timed, complete.bytes), complete.time));
    }

    fn place(&self, connection: usize, at: Instant) -> Place {
        let sought = &self.read[connection].sought;
        Place::new(at, sought.endpoints.src.ip(), sought.id)
    }

    fn class(&self, connection: usize, timed: Timed, [up, down]: [u64; 2]) -> Class {
        let port = self.read[connection].sought.endpoints.dst.port();
        Class { timed, port: class_port(port), up: size_class(up), down: size_class(down) }
    }
}

impl TakesPackets for Following<'_> {
    fn packet(&mut self, connection: usize, direction: Direction, packet: &CapturedPacket) {
        let tracker = self.open.entry(connection).or_default();
        if let Some(exchange) = tracker.packet(direction, packet) {
            self.add_exchange(connection, &exchange);
        }
    }

    fn last(&mut self, connection: usize) {
        let Some(tracker) = self.open.remove(&connection) else {
            return;
        };
        let (exchange, complete) = tracker.finish();
        exchange.iter().for_each(|exchange| self.add_exchange(connection, exchange));
        complete.iter().for_each(|complete| self.add_complete(connection, complete));
    }
}
