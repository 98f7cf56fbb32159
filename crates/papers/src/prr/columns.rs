//! The columns of flows, of segments sent and of the sender's steps.

use super::cell::{Exit, Flow, SchemeCell, Sent};
use super::trace::Step;
use crate::prelude::*;

/// The columns of a cell in the table for people.
pub const TEXT: [&str; 11] = [
    "scheme",
    "ack",
    "entered_ms",
    "exit_at_ms",
    "exit_ssthresh",
    "exit_pipe_before",
    "exit_cwnd",
    "retransmitted_at_ms",
    "largest_burst",
    "second_write_rounds",
    "second_write_ms",
];

/// The columns that identify a flow.
fn flow_columns<R: 'static>(figure: &'static str, flow: fn(&R) -> Flow) -> Columns<R> {
    columns!(columns_of_figure::<R>(figure), r;
        scheme, "", "the sender's rate control" => flow(r).scheme.name();
        profile, "", "the sender's profile" => flow(r).scheme.profile();
        ack, "", "the receiver's `ack` setting" => flow(r).acks.name();
    )
}

/// A row per flow.
pub fn cells(figure: &'static str) -> Columns<SchemeCell> {
    const AFTER: &str = "ms after the first write";
    let exit = columns!(Columns::<Exit>::new(), e;
        at_ms, AFTER, "end of recovery", "to";
        ssthresh, "segments", "slow-start threshold at the end of recovery";
        pipe_before, "segments", "segments in flight before the ACK that ended recovery";
        cwnd, "segments", "congestion window after recovery", "cwnd after";
    );
    flow_columns::<SchemeCell>(figure, |c| c.flow)
        .column("entered_ms", AFTER, "beginning of recovery", |c| c.entered_ms)
        .heading("recovery from")
        .group("exit", exit, |c| c.exit.as_ref())
        .column("retransmitted_at_ms", AFTER, "times of retransmissions", |c| c.retransmission_times())
        .heading("retransmissions at")
        .column(
            "largest_burst",
            "segments",
            "largest number of segments sent at one instant after the first write",
            |c| c.largest_burst(),
        )
        .column("second_write_rounds", "segments", "segments of the second write sent in each round trip", |c| {
            c.rounds()
        })
        .heading("second write by RTT")
        .column("second_write_ms", "ms after the second write", "time until the second write was acknowledged", |c| {
            c.second_write_ms
        })
        .heading("acknowledged")
}

/// A row per segment sent.
pub fn segments(figure: &'static str) -> Columns<(Flow, Sent)> {
    flow_columns::<(Flow, Sent)>(figure, |(flow, _)| *flow)
        .column("at_ms", "ms", "time since the first write", |(_, sent)| sent.at_ms)
        .column("segment", "", "number of the segment in the stream, from 1", |(_, sent)| sent.segment)
        .column("again", "", "a retransmission", |(_, sent)| sent.trigger.is_some())
        .column("trigger", "", "trigger of a retransmission", |(_, sent)| sent.trigger)
        .column("pipe", "segments", "segments in flight, this one included", |(_, sent)| sent.pipe)
        .column("cwnd", "segments", "congestion window", |(_, sent)| sent.cwnd)
}

/// A row per instant at which the sender responded to an ACK, a write or a timer.
pub fn steps(figure: &'static str) -> Columns<(Flow, Step)> {
    flow_columns::<(Flow, Step)>(figure, |(flow, _)| *flow)
        .column("at_ms", "ms", "time since the first write", |(_, step)| step.at_ms)
        .column("on_ack", "", "a response to an ACK", |(_, step)| step.on_ack)
        .column("recovery", "", "in recovery afterwards", |(_, step)| step.is_recovery())
        .column("sent", "segments", "segments sent", |(_, step)| step.sent())
        .column("pipe", "segments", "segments in flight afterwards", |(_, step)| step.pipe)
        .column("cwnd", "segments", "congestion window afterwards", |(_, step)| step.cwnd)
}
