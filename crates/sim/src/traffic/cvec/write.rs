//! Writes connection vectors.

use super::{ConnectionVector, Pattern, Wait};
use recoup_tcp::flow::Host;
use std::fmt::Write;

/// A file format of ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The older one: `SEQ`, `CONC`. Where a unit of a sequential vector follows one of the same host, its wait
    /// counts from sending, else from receiving.
    Original,
    /// The newer one: `S`, `C`. It says what each unit waits for.
    Alternate,
}

/// Appends a vector to `text`, with times rounded to microseconds.
pub fn write(vector: &ConnectionVector, format: Format, text: &mut String) {
    // Writing to a string does not fail.
    let _ = write_header(vector, format, text);
    let _ = match format {
        Format::Original => write_original(vector, text),
        Format::Alternate => write_alternate(vector, text),
    };
}

fn write_header(vector: &ConnectionVector, format: Format, text: &mut String) -> std::fmt::Result {
    let (start, id) = (micros(vector.start), vector.id);
    let units = |host: Host| {
        let of_host = vector.units.iter().filter(|unit| unit.from == host);
        of_host.filter(|unit| unit.bytes > 0).count()
    };
    let (client, server) = (units(Host::Client), units(Host::Server));
    match (vector.pattern, format) {
        (Pattern::Sequential, Format::Original) => {
            writeln!(text, "SEQ {start} {} 0 {id}", client.max(server))?;
        }
        (Pattern::Sequential, Format::Alternate) => {
            writeln!(text, "S {start} {} 0 {id}", client.max(server))?;
        }
        (Pattern::Concurrent, Format::Original) => {
            writeln!(text, "CONC {start} {client} {server} 0 {id}")?;
        }
        (Pattern::Concurrent, Format::Alternate) => {
            writeln!(text, "C {start} {client} {server} 0 {id}")?;
        }
    }
    if let Some([client, server]) = vector.segment_sizes {
        writeln!(text, "m {client} {server}")?;
    }
    if let Some([client, server]) = vector.windows {
        writeln!(text, "w {client} {server}")?;
    }
    if let Some(rtt) = vector.min_rtt {
        writeln!(text, "r {}", micros(rtt))?;
    }
    let [up, down] = vector.loss;
    writeln!(text, "l {up:.6} {down:.6}")
}

fn write_original(vector: &ConnectionVector, text: &mut String) -> std::fmt::Result {
    let concurrent = vector.pattern == Pattern::Concurrent;
    for (number, unit) in vector.units.iter().enumerate() {
        let arrow = match unit.from {
            Host::Client => ">",
            Host::Server => "<",
        };
        let wait = micros(unit.wait.duration());
        // A sequential vector has a time between any two units, and none before the first.
        match concurrent {
            true if wait > 0 || unit.bytes == 0 => writeln!(text, "t{arrow} {wait}")?,
            false if number > 0 => writeln!(text, "t {wait}")?,
            _ => {}
        }
        match (unit.bytes, concurrent) {
            (0, _) => {} // the time is followed by the end
            (bytes, true) => writeln!(text, "c{arrow} {bytes}")?,
            (bytes, false) => writeln!(text, "{arrow} {bytes}")?,
        }
    }
    Ok(())
}

fn write_alternate(vector: &ConnectionVector, text: &mut String) -> std::fmt::Result {
    for unit in &vector.units {
        let host = match unit.from {
            Host::Client => 'I',
            Host::Server => 'A',
        };
        let (sent, received) = match unit.wait {
            Wait::AfterSending(wait) => (micros(wait), 0),
            Wait::AfterReceiving(wait) => (0, micros(wait)),
        };
        writeln!(text, "{host} {sent} {received} {}", unit.bytes)?;
    }
    Ok(())
}

fn micros(time: std::time::Duration) -> u128 {
    (time.as_nanos() + 500) / 1000
}
