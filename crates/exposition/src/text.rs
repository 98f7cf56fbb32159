//! Metrics as text: the text format of Prometheus, version 0.0.4, and OpenMetrics 1.0.
//!
//! Sources: <https://prometheus.io/docs/instrumenting/exposition_formats/> and
//! <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md>.

use crate::histogram::Histogram;
use std::fmt::{Display, Write as _};

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' own, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The format that an `Accept` header prefers. Prometheus' own, unless OpenMetrics has at least the same weight
    /// (RFC 9110 §12.5.1).
    pub fn accepted(accept: &str) -> Self {
        let [mut own, mut open] = [0.0_f32; 2];
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let (mut weight, mut is_ours) = (Some(1.0_f32), true);
            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                match name.trim() {
                    "q" => weight = value.trim().parse().ok(),
                    "version" => is_ours = value.trim() == "1.0.0",
                    _ => {}
                }
            }
            // A weight that is no number counts as none.
            let weight = weight.unwrap_or(0.0);
            match media {
                "application/openmetrics-text" if is_ours => open = weight.max(open),
                "text/plain" | "text/*" | "*/*" => own = weight.max(own),
                _ => {}
            }
        }
        if open > 0.0 && open >= own { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The value of the `Content-Type` header.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only goes up. Its name ends in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Its labels are what it says. Its name ends in `_info`.
    Info,
    /// Times by their length. Its name ends in `_seconds`.
    Histogram,
}

/// A metric: all samples of one name.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in samples.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it means, in one line.
    pub help: &'static str,
}

impl Metric {
    /// A counter of this name.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Counter, help }
    }

    /// A gauge of this name.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Gauge, help }
    }

    /// The name in the lines that describe it: OpenMetrics writes it without the suffix of its type.
    fn family(&self, format: Format) -> &'static str {
        let suffix = match (format, self.kind) {
            (Format::Prometheus, _) | (_, Kind::Gauge | Kind::Histogram) => "",
            (Format::OpenMetrics, Kind::Counter) => "_total",
            (Format::OpenMetrics, Kind::Info) => "_info",
        };
        self.name.strip_suffix(suffix).unwrap_or(self.name)
    }

    /// The name of its type. Prometheus' own format has no type `info`.
    const fn type_name(&self, format: Format) -> &'static str {
        match (self.kind, format) {
            (Kind::Counter, _) => "counter",
            (Kind::Gauge, _) | (Kind::Info, Format::Prometheus) => "gauge",
            (Kind::Info, Format::OpenMetrics) => "info",
            (Kind::Histogram, _) => "histogram",
        }
    }
}

/// All metrics, as text.
#[derive(Debug)]
pub struct Page {
    format: Format,
    text: String,
}

impl Page {
    /// An empty one.
    pub const fn new(format: Format) -> Self {
        Self { format, text: String::new() }
    }

    /// Begins a metric: its samples follow.
    pub fn describe(&mut self, metric: &Metric) {
        let family = metric.family(self.format);
        let unit = ["seconds", "bytes"].into_iter().find(|unit| family.ends_with(&format!("_{unit}")));
        self.line(format_args!("# HELP {family} {}", escape(metric.help)));
        self.line(format_args!("# TYPE {family} {}", metric.type_name(self.format)));
        if let (Format::OpenMetrics, Some(unit)) = (self.format, unit) {
            self.line(format_args!("# UNIT {family} {unit}"));
        }
    }

    /// A sample with these labels.
    pub fn sample(&mut self, metric: &Metric, labels: &[(&str, &str)], value: impl Display) {
        self.named_sample(metric.name, labels, value);
    }

    /// The samples of a histogram with these labels.
    pub fn histogram(&mut self, metric: &Metric, labels: &[(&str, &str)], histogram: &Histogram) {
        let name = |suffix| format!("{}_{suffix}", metric.name);
        for (bound, count) in histogram.buckets() {
            // OpenMetrics, "Considerations: Canonical Numbers": whole numbers have a decimal, as in 1.0.
            let bound = if bound.is_finite() { format!("{bound:?}") } else { "+Inf".into() };
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.named_sample(&name("bucket"), &labels, count);
        }
        self.named_sample(&name("sum"), labels, histogram.sum().as_secs_f64());
        self.named_sample(&name("count"), labels, histogram.count());
    }

    fn named_sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escape(text))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    /// The text.
    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.line(format_args!("# EOF"));
        }
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// A label's value or a help text. Quotation marks need an escape in values; in help texts there are none.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
