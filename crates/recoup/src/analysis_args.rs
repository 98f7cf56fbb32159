//! How a capture is analyzed, and which part of it: arguments of the command line and of the Python package.

use recoup_captures::filter::Filter;
use recoup_captures::guard_log::{LogError, read_logs};
use recoup_captures::time_window::{arguments, parse_time};
use recoup_support::profile::parse_profile;
use recoup_support::quantity::parse_duration;
use recoup_trace::analyze::{ConnectionFilter, Settings, TimeMark, TimeWindow};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// How a capture is analyzed, and which part of it.
#[derive(clap::Args)]
pub struct AnalysisArgs {
    /// Analyze only these connections: an expression of tcpdump, such as 'net 10.0.0.0/8 and port 443'
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub filter: Option<Filter>,
    /// Analyze only packets from this time on: a duration after the first segment, such as 5s, or a
    /// time in UTC, such as 2026-11-22T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub from: Option<TimeMark>,
    /// Analyze only packets before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub to: Option<TimeMark>,
    /// Leave out the copies of segments that `recoup guard copies` sent, which this log of it names: they are no
    /// retransmissions. May be repeated
    #[arg(long, value_name = "FILE")]
    pub guard_log: Vec<PathBuf>,
    /// Explain every sender by this profile, such as linux-6 or linux-3.17+tlp [default: for each
    /// sender, the profile that explains most]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Consider a connection over after this long without a packet
    #[arg(
        long,
        value_name = "TIME",
        default_value = "15min",
        value_parser = parse_idle,
        allow_hyphen_values = true
    )]
    pub idle: Duration,
    /// Number of threads that read and analyze [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
}

/// Why arguments do not fit. Each message is one line.
#[derive(Debug, Error)]
pub enum AnalysisArgsError {
    /// The window ends before it begins.
    #[error("{}: no time in between: expected --from before --to", arguments(.0))]
    EmptyWindow(TimeWindow),
    /// A log of `recoup guard copies` cannot be read.
    #[error("--guard-log {0}")]
    GuardLog(#[from] LogError),
    /// The profile is not known.
    #[error("--profile {text}: {why} (`recoup profiles` lists what there is)")]
    Profile {
        /// The profile.
        text: String,
        /// Why it is not known.
        why: String,
    },
}

impl AnalysisArgs {
    /// The settings of the analysis.
    ///
    /// # Errors
    /// An unknown profile, a log of copies that cannot be read, or a window that ends before it begins.
    pub fn settings(&self) -> Result<Settings, AnalysisArgsError> {
        let window = TimeWindow { from: self.from, to: self.to };
        if window.is_empty() {
            return Err(AnalysisArgsError::EmptyWindow(window));
        }
        let profile = self
            .profile
            .as_deref()
            .map(|text| parse_profile(text).map_err(|why| AnalysisArgsError::Profile { text: text.into(), why }));
        let copies = (!self.guard_log.is_empty()).then(|| read_logs(&self.guard_log)).transpose()?;
        let filter = self.filter.clone();
        let usual = Settings::default();
        Ok(Settings {
            profile: profile.transpose()?,
            idle: self.idle,
            threads: self.threads.map_or(usual.threads, |n| n - 1),
            filter: filter.map(|filter| Arc::new(filter) as Arc<dyn ConnectionFilter>),
            window,
            copies: copies.map(Arc::from),
            ..usual
        })
    }
}

/// Reads the time after which a connection is over.
///
/// # Errors
/// What is no time, or 0.
pub fn parse_idle(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("expected more than 0".into()),
        idle => Ok(idle),
    }
}

/// Reads a number of threads.
///
/// # Errors
/// What is no number from 1 to 1024.
pub fn parse_threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1024".into())
}
