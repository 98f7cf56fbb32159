//! The part of a capture that a command looks at: `--filter`, `--from` and `--to`.

use crate::Failure;
use recoup_lab::filter::Filter;
use recoup_lab::time_window::{arguments, parse_time};
use recoup_trace::analyze::{ConnectionFilter, Settings, TimeMark, TimeWindow};
use std::sync::Arc;

/// Which part of a capture is analyzed.
#[derive(clap::Args)]
pub struct CaptureArgs {
    /// Analyze only these connections: an expression of tcpdump, such as 'net 10.0.0.0/8 and port 443'
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    filter: Option<Filter>,
    /// Analyze only packets from this time on: a duration after the first segment, such as 5s, or a
    /// time in UTC, such as 2026-11-22T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    from: Option<TimeMark>,
    /// Analyze only packets before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    to: Option<TimeMark>,
}

impl CaptureArgs {
    /// These settings, for the chosen part.
    ///
    /// # Errors
    /// A window that ends before it begins.
    pub fn apply(&self, settings: Settings) -> Result<Settings, Failure> {
        let window = TimeWindow {
            from: self.from,
            to: self.to,
        };
        if window.is_empty() {
            let line = format!(
                "{}: no time in between: expected --from before --to",
                arguments(&window)
            );
            return Err(Failure::Wrong(line));
        }
        let filter = self.filter.clone();
        Ok(Settings {
            filter: filter.map(|filter| Arc::new(filter) as Arc<dyn ConnectionFilter>),
            window,
            ..settings
        })
    }
}
