//! A row for each retransmission.

use crate::study::slp::{Class, Classifier, Classifiers, Position, Sample, flag_names};
use recoup_recovery::Trigger;
use recoup_recovery::slp::Kind;
use recoup_table::Columns;
use recoup_units::Direction;

/// A retransmission with its classes.
#[derive(Clone, Debug)]
pub struct SampleRow {
    sample: Sample,
    /// In the order of [`Classifier::ALL`].
    classes: [Option<Class>; Classifier::ALL.len()],
}

/// The rows of a capture's retransmissions, ordered by frame.
pub fn sample_rows(samples: &[Sample]) -> Vec<SampleRow> {
    let classifiers = Classifiers::new(samples);
    let row = |sample: &Sample| SampleRow {
        sample: *sample,
        classes: Classifier::ALL.map(|classifier| classifiers.class(classifier, sample)),
    };
    samples.iter().map(row).collect()
}

/// The columns of a retransmission.
pub fn sample_columns() -> Columns<SampleRow> {
    let columns = Columns::<SampleRow>::new()
        .column("frame", "", "its frame in the capture, from 1", |r| r.sample.frame)
        .column("time", "s", "when it was captured", |r| r.sample.at)
        .column("connection", "", "the number of its connection", |r| r.sample.connection)
        .column("src", "", "its sender", |r| r.sample.endpoints.src.to_string())
        .column("dst", "", "its receiver", |r| r.sample.endpoints.dst.to_string())
        .column("sender", "", "client: the end that opened the connection; server: the other", |r| {
            match r.sample.direction {
                Direction::Up => "client",
                Direction::Down => "server",
            }
        })
        .column("seq", "", "the sequence number in its header", |r| r.sample.seq.0)
        .column("bytes", "bytes", "payload", |r| r.sample.len)
        .column("interval_s", "s", "since the previous transmission of its first number", |r| {
            r.sample.interval.as_secs_f64()
        })
        .column("flags", "", "the flags of the packet that first carried that number", |r| flag_names(r.sample.flags))
        .column("kinds", "", "the kinds of that packet, joined by |", |r| kinds(&r.sample))
        .column("trigger", "", "the first trigger that the analysis found; empty if unknown", |r| {
            r.sample.trigger.map(Trigger::name)
        })
        .column("listed", "", "whether the analysis lists it as a retransmission", |r| r.sample.is_listed);
    let columns = position_columns(columns, "", |sample| sample.position);
    let columns = position_columns(columns, "_with_acks", |sample| sample.position_with_acks);
    Classifier::ALL.into_iter().enumerate().fold(columns, |columns, (i, classifier)| {
        let about = format!("timeout or fast, by {}", classifier.title());
        columns.column(class_column(classifier), "", about, move |r| r.classes[i].map(Class::name))
    })
}

const fn class_column(classifier: Classifier) -> &'static str {
    match classifier {
        Classifier::KMeans => "class_k_means",
        Classifier::KMeansLog => "class_k_means_log",
        Classifier::KMeansSynsApart => "class_k_means_syns_apart",
        Classifier::Triggers => "class_triggers",
        Classifier::Wireshark => "class_wireshark",
    }
}

fn position_columns(
    columns: Columns<SampleRow>,
    suffix: &str,
    of: fn(&Sample) -> Option<Position>,
) -> Columns<SampleRow> {
    let counted = match suffix {
        "" => "packets with payload, SYN or FIN",
        _ => "all packets",
    };
    columns
        .column(
            format!("half{suffix}"),
            "",
            "whether the position counts from the front or from the back; empty if the capture lacks the first or the last packet",
            move |r| of(&r.sample).map(|place| place.half.name()),
        )
        .column(
            format!("position{suffix}"),
            "",
            format!("the position of the first transmission, from 1, among {counted} of its sender"),
            move |r| of(&r.sample).map(|place| place.index),
        )
}

fn kinds(sample: &Sample) -> String {
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.filter(|kind| sample.kinds.contains(*kind));
    kinds.map(Kind::name).collect::<Vec<_>>().join("|")
}
