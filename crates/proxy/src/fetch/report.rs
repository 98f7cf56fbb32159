//! What is said of each URL.

use crate::fetch::client::FetchError;
use crate::fetch::transfer::Transfer;
use crate::fetch::url::Url;
use recoup_support::stats::Durations;
use recoup_units::visible;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// The responses of a URL.
#[derive(Debug, Default)]
pub struct Tally {
    errors: u64,
    /// Responses by status.
    statuses: BTreeMap<u16, u64>,
    bytes: u64,
    first_byte: Durations,
    total: Durations,
    /// The digest of the first response.
    sha256: Option<[u8; 32]>,
    /// Whether another response has another digest.
    differs: bool,
    /// Whether a response has another status than 2xx.
    has_bad_status: bool,
    /// The last response.
    last: Option<Transfer>,
}

impl Tally {
    /// Adds what became of one request.
    pub fn add(&mut self, outcome: Result<Transfer, FetchError>) {
        let Ok(transfer) = outcome else {
            self.errors += 1;
            return;
        };
        *self.statuses.entry(transfer.status.as_u16()).or_default() += 1;
        self.has_bad_status |= !transfer.status.is_success();
        self.bytes += transfer.bytes;
        self.first_byte.add(transfer.first_byte);
        self.total.add(transfer.total);
        if transfer.sha256.is_some() {
            self.differs |= self.sha256.is_some_and(|first| Some(first) != transfer.sha256);
            self.sha256 = self.sha256.or(transfer.sha256);
        }
        self.last = Some(transfer);
    }

    /// Requests so far.
    pub fn count(&self) -> u64 {
        self.errors + self.responses()
    }

    fn responses(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Whether a response was not whole.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether all responses have status 2xx and the same bytes.
    pub fn is_good(&self) -> bool {
        !self.has_bad_status && !self.differs
    }

    /// The line of a URL. `None` if the errors say all there is.
    pub fn line(&self, url: &Url) -> Option<String> {
        let last = self.last.as_ref()?;
        let is_one = self.count() == 1;
        let statuses = self.statuses.iter().map(|(status, count)| match is_one {
            true => status.to_string(),
            false => format!("{status} ({count} times)"),
        });
        let statuses: Vec<String> = statuses.collect();
        let mut line = format!("{url}: {}, {} bytes", statuses.join(", "), self.bytes);
        // A `String` takes any text.
        let _ = match is_one {
            true => write!(line, ", first byte after {}, whole after {}", ms(last.first_byte), ms(last.total)),
            false => {
                write!(line, ", first byte after {}, whole after {}", spread(&self.first_byte), spread(&self.total))
            }
        };
        if self.errors > 0 {
            let _ = write!(line, ", {} failed", self.errors);
        }
        if self.differs {
            line.push_str(", SHA-256 differs from response to response");
        } else if let Some(sha256) = &self.sha256 {
            let _ = write!(line, ", SHA-256 {}", hex(sha256));
        }
        if let Some(location) = &last.leads_to {
            let _ = write!(line, ", leads to {location}");
        }
        // Servers choose where redirects lead.
        Some(visible(&line).to_string())
    }
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn spread(times: &Durations) -> String {
    format!("{:.3} ms (median; 99 %: {:.3} ms)", times.quantile(0.5), times.quantile(0.99))
}

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
