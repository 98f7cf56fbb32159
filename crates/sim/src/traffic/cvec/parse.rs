//! Reads connection vectors, in either format.

use super::{ConnectionVector, DataUnit, Pattern, Wait, place};
use recoup_tcp::flow::Host;
use std::time::Duration;
use thiserror::Error;

/// The longest wait and the latest start: a year, in microseconds.
const LONGEST: u64 = 365 * 86_400 * 1_000_000;

/// The most bytes of a unit: 1 TB.
const LARGEST: u64 = 1_000_000_000_000;

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct CvecError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub why: String,
}

/// Reads the vectors of a file, in either format. Vectors of both may stand in one file.
///
/// # Errors
/// The first line that is not understood.
pub fn parse(text: &str) -> Result<Vec<ConnectionVector>, CvecError> {
    let mut vectors = Vec::new();
    let mut reader: Option<Reader> = None;
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: String| CvecError { line: number + 1, why };
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((&first, fields)) = words.split_first() else {
            continue;
        };
        if first.starts_with('#') {
            continue;
        }
        if let Some(began) = Reader::begin(first, fields).map_err(wrong)? {
            vectors.extend(reader.replace(began).map(Reader::finish));
            continue;
        }
        match &mut reader {
            Some(reader) => reader.read(first, fields).map_err(wrong)?,
            None => {
                let why = format!("`{first}`: expected SEQ, CONC, S or C, which begin a vector");
                return Err(wrong(why));
            }
        }
    }
    vectors.extend(reader.map(Reader::finish));
    Ok(vectors)
}

/// A vector whose lines are being read.
struct Reader {
    vector: ConnectionVector,
    /// Whether it is in the original format.
    original: bool,
    /// Waits of initiator and acceptor that no unit has followed yet. A sequential vector uses the first.
    waits: [Option<u64>; 2],
}

impl Reader {
    /// The vector that a line begins, if it begins one.
    fn begin(first: &str, fields: &[&str]) -> Result<Option<Self>, String> {
        let (original, pattern) = match first {
            "SEQ" => (true, Pattern::Sequential),
            "CONC" => (true, Pattern::Concurrent),
            "S" => (false, Pattern::Sequential),
            "C" => (false, Pattern::Concurrent),
            _ => return Ok(None),
        };
        let (names, count) = match pattern {
            Pattern::Sequential => ("start, epochs and two identifiers", 4),
            Pattern::Concurrent => ("start, units of both hosts and two identifiers", 5),
        };
        if fields.len() != count {
            let found = fields.len();
            return Err(format!("{first}: expected {count} numbers ({names}), found {found}"));
        }
        let numbers: Result<Vec<u64>, String> = fields.iter().map(|field| number(field, u64::MAX)).collect();
        let numbers = numbers.map_err(|e| format!("{first}: {e}"))?;
        let start = micros(fields[0]).map_err(|e| format!("{first}: start: {e}"))?;
        Ok(Some(Self {
            vector: ConnectionVector {
                start,
                id: numbers[count - 1],
                pattern,
                windows: None,
                segment_sizes: None,
                min_rtt: None,
                loss: [0.0; 2],
                units: Vec::new(),
            },
            original,
            waits: [None; 2],
        }))
    }

    /// Reads a line of the vector.
    fn read(&mut self, first: &str, fields: &[&str]) -> Result<(), String> {
        let named = |e: String| format!("{first}: {e}");
        match first {
            "w" => {
                let [client, server] = exactly(fields, "the windows of both hosts").map_err(named)?;
                let windows = [number(client, 1 << 40), number(server, 1 << 40)];
                let [client, server] = windows.map(|window| window.map_err(named));
                self.vector.windows = Some([client?, server?]);
            }
            "m" => {
                let expected = "the segment sizes of both hosts";
                let [client, server] = exactly(fields, expected).map_err(named)?;
                let sizes = [client, server].map(|size| size.parse().ok().filter(|size| *size > 0));
                let [Some(client), Some(server)] = sizes else {
                    return Err(named(format!("expected {expected}, from 1 to 65535 bytes")));
                };
                self.vector.segment_sizes = Some([client, server]);
            }
            "r" => {
                let [rtt] = exactly(fields, "the least round-trip time").map_err(named)?;
                self.vector.min_rtt = Some(micros(rtt).map_err(named)?);
            }
            "l" => {
                let rates: [&str; 2] = exactly(fields, "the loss rates of both directions").map_err(named)?;
                for (rate, text) in self.vector.loss.iter_mut().zip(rates) {
                    let read = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
                    let wrong = || named(format!("`{text}`: expected a rate from 0 to 1"));
                    *rate = read.ok_or_else(wrong)?;
                }
            }
            _ if self.original => self.read_original(first, fields)?,
            _ => self.read_alternate(first, fields)?,
        }
        Ok(())
    }

    fn read_original(&mut self, first: &str, fields: &[&str]) -> Result<(), String> {
        let sequential = self.vector.pattern == Pattern::Sequential;
        let (host, is_wait) = match (first, sequential) {
            (">", true) | ("c>", false) => (Host::Client, false),
            ("<", true) | ("c<", false) => (Host::Server, false),
            ("t", true) | ("t>", false) => (Host::Client, true),
            ("t<", false) => (Host::Server, true),
            (_, true) => {
                return Err(format!("`{first}`: expected >, < or t in a sequential vector"));
            }
            (_, false) => {
                return Err(format!("`{first}`: expected c>, c<, t> or t< in a concurrent vector"));
            }
        };
        let named = |e: String| format!("{first}: {e}");
        let wait = &mut self.waits[place(if sequential { Host::Client } else { host })];
        if is_wait {
            let [time] = exactly(fields, "a time").map_err(named)?;
            if wait.is_some() {
                return Err(named("expected data, found a second time".into()));
            }
            if sequential && self.vector.units.is_empty() {
                return Err(named("expected data, before which nothing waits".into()));
            }
            *wait = Some(number(time, LONGEST).map_err(named)?);
            return Ok(());
        }
        let [bytes] = exactly(fields, "a number of bytes").map_err(named)?;
        let bytes = number(bytes, LARGEST).map_err(named)?;
        let waited = Duration::from_micros(wait.take().unwrap_or(0));
        let wait = self.vector.usual_wait(host, waited);
        self.push(host, wait, bytes);
        Ok(())
    }

    fn read_alternate(&mut self, first: &str, fields: &[&str]) -> Result<(), String> {
        let host = match first {
            "I" => Host::Client,
            "A" => Host::Server,
            _ => return Err(format!("`{first}`: expected w, r, l, m, I or A")),
        };
        let named = |e: String| format!("{first}: {e}");
        let [sent, received, bytes] =
            exactly(fields, "the waits after sending and after receiving, and bytes").map_err(named)?;
        let [sent, received] = [sent, received].map(|wait| micros(wait).map_err(named));
        let (sent, received) = (sent?, received?);
        let bytes = number(bytes, LARGEST).map_err(named)?;
        let wait = match (sent.is_zero(), received.is_zero()) {
            (true, true) => self.vector.usual_wait(host, Duration::ZERO),
            (false, true) => Wait::AfterSending(sent),
            (true, false) => Wait::AfterReceiving(received),
            (false, false) => return Err(named("expected one of the two waits to be 0".into())),
        };
        self.push(host, wait, bytes);
        Ok(())
    }

    fn push(&mut self, from: Host, wait: Wait, bytes: u64) {
        self.vector.units.push(DataUnit { from, wait, bytes });
    }

    /// The vector. A time at its end says when the host that sent last closes.
    fn finish(mut self) -> ConnectionVector {
        let last = self.vector.units.last().map_or(Host::Client, |unit| unit.from);
        let hosts = match self.vector.pattern {
            Pattern::Sequential => [last, Host::Server],
            Pattern::Concurrent => [Host::Client, Host::Server],
        };
        for (host, wait) in hosts.into_iter().zip(self.waits) {
            if let Some(wait) = wait {
                self.push(host, Wait::AfterSending(Duration::from_micros(wait)), 0);
            }
        }
        self.vector
    }
}

fn exactly<'a, const N: usize>(fields: &[&'a str], expected: &str) -> Result<[&'a str; N], String> {
    let found = fields.len();
    <[&str; N]>::try_from(fields).map_err(|_| format!("expected {expected}, found {found} fields"))
}

fn micros(text: &str) -> Result<Duration, String> {
    number(text, LONGEST).map(Duration::from_micros)
}

fn number(text: &str, most: u64) -> Result<u64, String> {
    let read = text.parse().ok().filter(|number| *number <= most);
    read.ok_or_else(|| match most {
        u64::MAX => format!("`{text}`: expected a whole number from 0"),
        _ => format!("`{text}`: expected a whole number from 0 to {most}"),
    })
}
