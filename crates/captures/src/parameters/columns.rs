//! The columns of instances, of senders and instances, and of changed detections.

use super::rows::{ChangeRow, EventRow, InstanceValues, ResultRow, SenderIdentity};
use super::values::instance_text;
use crate::study::Model;
use crate::wording::in_ms;
use recoup_table::Columns;
use recoup_whatif::parameters::ChangeKind;

/// Both models, with the prefix of their columns.
const MODELS: [(Model, &str, &str); 2] =
    [(Model::Forms, "", "by the study's equations"), (Model::Counted, "counted_", "counted segment by segment")];

fn ms(nanos: i128) -> f64 {
    nanos as f64 / 1e6
}

fn instance() -> Columns<InstanceValues> {
    Columns::new()
        .column("instance", "", "the instance's number, from 0", |i: &InstanceValues| i.number as u64)
        .column("parameters", "", "what the instance replaces; the rest is as each sender has it", |i| {
            instance_text(&i.parameters)
        })
        .column("k", "", "k, the factor of RTTVAR in the RTO, if replaced", |i| {
            i.parameters.rttvar_factor.map(|k| k.as_f64())
        })
        .column("min_rto_ms", "ms", "the minimum RTO, if replaced", |i| i.parameters.min_rto.map(in_ms))
        .column("a", "", "a, the weight of a sample in RTTVAR, if replaced", |i| {
            i.parameters.rttvar_weight.map(|a| a.as_f64())
        })
        .column("b", "", "b, the weight of a sample in SRTT, if replaced", |i| {
            i.parameters.srtt_weight.map(|b| b.as_f64())
        })
        .column("m", "", "m, the factor of SRTT in the RTO, if replaced", |i| {
            i.parameters.srtt_factor.map(|m| m.as_f64())
        })
        .column("dupthresh", "", "D, the duplicate ACKs that mean a loss, if replaced", |i| {
            i.parameters.dupthresh.map(|d| d.0)
        })
}

/// A row for each profile and instance.
pub fn results() -> Columns<ResultRow> {
    let columns = Columns::new()
        .column("profile", "", "the profile of the senders; all: of any profile", |r: &ResultRow| r.profile.to_string())
        .all_of(instance(), |r| Some(&r.instance))
        .column("senders", "", "senders studied", |r| r.senders);
    let columns = MODELS.into_iter().fold(columns, result_values);
    kinds(
        columns,
        |r, kind| r.totals.events[kind as usize],
        |r, kind, model| ms(r.totals.saved[model as usize][kind as usize]),
    )
}

fn result_values(columns: Columns<ResultRow>, (model, prefix, how): (Model, &'static str, &str)) -> Columns<ResultRow> {
    let name = |name: &str| format!("{prefix}{name}");
    let number = model as usize;
    columns
        .column(
            name("mean_saved_ms"),
            "ms",
            format!("mean reduction of a sender's connection duration, {how}; negative: longer"),
            move |r| r.mean_saved_ms[number],
        )
        .column(
            name("mean_saved_rtts"),
            "RTTs",
            format!("the same, each in the mean RTT of its sender, {how}"),
            move |r| r.mean_saved_rtts[number],
        )
        .column(name("sum_saved_ms"), "ms", format!("sum of all reductions, {how}"), move |r| ms(r.totals.saved(model)))
        .column(name("faster"), "senders", format!("senders whose connection ends sooner, {how}"), move |r| {
            r.totals.faster[number]
        })
        .column(name("slower"), "senders", format!("senders whose connection ends later, {how}"), move |r| {
            r.totals.slower[number]
        })
}

/// For each kind of change: how many, and what they save by each model.
fn kinds<R: 'static>(
    columns: Columns<R>,
    events: fn(&R, ChangeKind) -> u64,
    saved_ms: fn(&R, ChangeKind, Model) -> f64,
) -> Columns<R> {
    ChangeKind::ALL.into_iter().fold(columns, |columns, kind| {
        let (name, about) = (kind.name(), about(kind));
        let columns = columns.column(format!("{name}_events"), "", about.to_owned(), move |r| events(r, kind));
        MODELS.into_iter().fold(columns, |columns, (model, prefix, how)| {
            let about = format!("what these changes save, {how}; negative: longer");
            columns.column(format!("{prefix}{name}_saved_ms"), "ms", about, move |r| saved_ms(r, kind, model))
        })
    })
}

/// Description of a kind of change.
fn about(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::TimeoutMoves => "needed timeouts that come at another time",
        ChangeKind::TimeoutBecomesFast => "losses detected by fast retransmit instead of a timeout",
        ChangeKind::FastBecomesTimeout => "losses detected by a timeout instead of fast retransmit",
        ChangeKind::FastMoves => "needed fast retransmits that wait for another number of duplicate ACKs",
        ChangeKind::SpuriousTimeoutAvoided => "spurious timeouts avoided",
        ChangeKind::SpuriousTimeoutMade => "timeouts before an ACK that came in time",
        ChangeKind::SpuriousFastAvoided => "spurious fast retransmits avoided",
        ChangeKind::SpuriousFastMade => "fast retransmits that reordering makes",
    }
}

fn identity() -> Columns<SenderIdentity> {
    Columns::new()
        .column("connection", "", "the connection's number, from 0", |i: &SenderIdentity| i.connection)
        .column("capture_point", "", "the capture point in a merged file, from 0", |i| i.capture_point)
        .column("src", "", "the end that opened the connection", |i| i.endpoints.src.to_string())
        .column("dst", "", "the other end", |i| i.endpoints.dst.to_string())
        .column("sender", "", "client or server: the end whose parameters are replaced", |i| i.sender)
        .column("profile", "", "the profile of the sender", |i| i.profile.to_string())
}

/// A row for each sender and instance that changes one of its detections.
pub fn changes() -> Columns<ChangeRow> {
    let columns = Columns::new()
        .all_of(identity(), |r: &ChangeRow| Some(&r.identity))
        .all_of(instance(), |r| Some(&r.instance))
        .column("mean_rtt_ms", "ms", "mean of the sender's RTT samples", |r| {
            (!r.mean_rtt.is_zero()).then(|| in_ms(r.mean_rtt))
        })
        .heading("mean RTT")
        .column("duration_ms", "ms", "from the connection's first packet to its last", |r| in_ms(r.duration))
        .heading("duration")
        .column("best_case_ms", "ms", "what ideal loss detection would have saved", |r| in_ms(r.best_case))
        .heading("best case");
    let columns = MODELS.into_iter().fold(columns, |columns, (model, prefix, how)| {
        columns
            .column(
                format!("{prefix}saved_ms"),
                "ms",
                format!("reduction of the connection's duration, {how}; negative: longer"),
                move |r| ms(r.change.saved(model).into()),
            )
            .heading(match model {
                Model::Forms => "saved",
                Model::Counted => "saved, counted",
            })
            .column(
                format!("{prefix}saved_rtts"),
                "RTTs",
                format!("the same in the sender's mean RTT, {how}"),
                move |r| r.saved_rtts(model),
            )
    });
    kinds(columns, |r, kind| r.change.events(kind).into(), |r, kind, model| ms(r.change.saved_by(kind, model).into()))
}

/// A row for each change of a detection.
pub fn events() -> Columns<EventRow> {
    Columns::new()
        .all_of(identity(), |r: &EventRow| Some(&r.identity))
        .all_of(instance(), |r| Some(&r.instance))
        .column(
            "frame",
            "",
            "frame of the retransmission; where none was captured, of the ACK that came later than the new detection",
            |r| r.event.frame,
        )
        .column("kind", "", "what changes", |r| r.event.kind.name())
        .column("saved_ms", "ms", "what this saves, by the study's equations; negative: longer", |r| {
            ms(r.event.saved[Model::Forms as usize].into())
        })
        .column("counted_saved_ms", "ms", "what this saves, counted segment by segment; negative: longer", |r| {
            ms(r.event.saved[Model::Counted as usize].into())
        })
}
