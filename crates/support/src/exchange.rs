//! Exchanges on one connection: requests, responses and the times between them.
//!
//! ```text
//! 300B>20kB, 1.2s, 300B>30ms>5kB
//! └─ request and response     └─ the server takes 30 ms to answer
//!            └─ think time of the client
//! ```
//! These are the application data units of Tmix's connection vectors (Weigle et al., "Tmix: A Tool for
//! Generating Realistic TCP Application Workloads in ns-2", 2006, §3), in which both ends wait for each
//! other.

use crate::quantity::{format_duration, parse_duration, parse_size_or_zero};
use recoup_units::format_bytes;
use std::time::Duration;

/// A request and its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The think time: how long the client waits after the previous response, or after connecting. After an
    /// exchange without a response it waits from the acknowledgment of its request.
    pub pause: Duration,
    /// Bytes the client writes. With 0, the server writes on its own, so long after its previous write.
    pub request: u64,
    /// How long the server waits once it has received the request.
    pub wait: Duration,
    /// Bytes the server writes. With 0, the request is an upload without a response.
    pub response: u64,
}

/// Reads exchanges, or `none`.
///
/// # Errors
/// The part that is no exchange, and the form expected.
pub fn parse(text: &str) -> Result<Vec<Exchange>, String> {
    let mut exchanges = Vec::new();
    if text == "none" {
        return Ok(exchanges);
    }
    let mut pause = None;
    for part in text.split(',').map(str::trim) {
        if !part.contains('>') {
            let time = parse_duration(part).map_err(|_| expected(part))?;
            if pause.replace(time).is_some() {
                return Err(format!("`{part}`: expected an exchange between two times"));
            }
            continue;
        }
        let pause = pause.take().unwrap_or_default();
        exchanges.push(parse_one(part, pause)?);
    }
    match pause {
        Some(_) => Err("expected an exchange after the last time".into()),
        None => Ok(exchanges),
    }
}

fn parse_one(part: &str, pause: Duration) -> Result<Exchange, String> {
    let pieces: Vec<_> = part.split('>').map(str::trim).collect();
    let (request, wait, response) = match pieces[..] {
        [request, response] => (request, "0", response),
        [request, wait, response] => (request, wait, response),
        _ => return Err(expected(part)),
    };
    let exchange = Exchange {
        pause,
        request: parse_size_or_zero(request)?,
        wait: parse_duration(wait)?,
        response: parse_size_or_zero(response)?,
    };
    match (exchange.request, exchange.response) {
        (0, 0) => Err(format!("`{part}`: expected a request or a response")),
        _ => Ok(exchange),
    }
}

fn expected(part: &str) -> String {
    format!("`{part}`: expected REQUEST>RESPONSE, REQUEST>TIME>RESPONSE, a TIME in between, or none")
}

/// The exchanges as [`parse`] reads them.
pub fn format(exchanges: &[Exchange]) -> String {
    if exchanges.is_empty() {
        return "none".into();
    }
    let size = |bytes| match bytes {
        0 => "0".into(),
        bytes => format_bytes(bytes),
    };
    let mut parts = Vec::new();
    for exchange in exchanges {
        if !exchange.pause.is_zero() {
            parts.push(format_duration(exchange.pause));
        }
        let wait = match exchange.wait {
            Duration::ZERO => String::new(),
            wait => format!("{}>", format_duration(wait)),
        };
        let [request, response] = [exchange.request, exchange.response].map(size);
        parts.push(format!("{request}>{wait}{response}"));
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_read_and_written() {
        for (text, written) in [
            ("none", "none"),
            ("300B>20kB", "300B>20kB"),
            (" 300>20kB , 1.2s, 300B > 30ms > 5kB", "300B>20kB,1200ms,300B>30ms>5kB"),
            ("1s,300B>0,0>5kB", "1s,300B>0,0>5kB"),
            ("1B>2B,3B>4B", "1B>2B,3B>4B"),
            ("1B>0ms>2B,0,3B>4B", "1B>2B,3B>4B"),
        ] {
            let read = parse(text).unwrap();
            assert_eq!(format(&read), written, "{text}");
            assert_eq!(parse(written), Ok(read), "{text}");
        }
    }

    #[test]
    fn what_is_no_exchange_is_refused() {
        for (text, error) in [
            ("", "``: expected REQUEST>RESPONSE"),
            ("20kB", "`20kB`: expected REQUEST>RESPONSE"),
            ("1B>2s>3B>4B", "`1B>2s>3B>4B`: expected REQUEST>RESPONSE"),
            ("1s,2s,1B>2B", "`2s`: expected an exchange between two times"),
            ("1B>2B,2s", "expected an exchange after the last time"),
            ("0>0", "`0>0`: expected a request or a response"),
            ("1B>soon>2B", "`soon` is not a duration"),
            ("x>2B", "`x`"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }
}
