//! Exchanges from what both ends wrote.
//!
//! A unit of one end is what it writes without a reply of the other end in between, as in the connection
//! vectors of Tmix (Weigle et al., 2006, §3). The times of the sender's writes are those at which a rerun
//! could have sent more. The peer's data is seen only when it arrives. Its pauses may therefore be those
//! of its congestion window or its retransmission timer, and shorter ones are no pauses of its application.
//!
//! Requests that do not wait for the response before them (pipelining) are written as if they did.

use recoup_support::exchange::Exchange;
use recoup_tcp::flow::{Script, Write};
use std::time::Duration;

/// A pause of the peer is its application's if it is longer than this, and than two round trips.
const QUIET: Duration = Duration::from_millis(500);

/// A pause of the sender's application that is shorter is none.
const AT_ONCE: Duration = Duration::from_millis(2);

/// The writes of one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer<'a> {
    pub script: &'a Script,
    /// Writes of one unit are no further apart.
    most_apart: Duration,
}

impl<'a> Writer<'a> {
    /// The sender, whose writes a rerun found.
    pub fn rerun(script: &'a Script) -> Self {
        Self { script, most_apart: AT_ONCE }
    }

    /// Its peer, whose data was seen as it arrived.
    pub fn observed(script: &'a Script, rtt: Duration) -> Self {
        Self { script, most_apart: QUIET.max(rtt * 2) }
    }
}

/// The exchanges of a connection.
pub(super) fn exchanges(client: &Writer<'_>, server: &Writer<'_>) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    let mut requests = client.script.writes.iter().peekable();
    let mut responses = server.script.writes.iter().peekable();
    let [mut up, mut down] = [0_u64; 2];
    loop {
        // A response comes before the next request. A write whose data to wait for is never written
        // comes at the end.
        let response = responses.next_if(|write| write.when.received <= up);
        let request = match response {
            Some(_) => None,
            None => requests.next_if(|write| write.when.received <= down),
        };
        let (response, request) = match (response, request) {
            (None, None) => match responses.next() {
                Some(write) => (Some(write), None),
                None => (None, requests.next()),
            },
            found => found,
        };
        if let Some(write) = response {
            down = down.saturating_add(write.bytes);
            respond(&mut all, write, server.most_apart);
        } else if let Some(write) = request {
            up = up.saturating_add(write.bytes);
            ask(&mut all, write, client.most_apart);
        } else {
            return all;
        }
    }
}

fn ask(all: &mut Vec<Exchange>, write: &Write, most_apart: Duration) {
    let after = write.when.after;
    match all.last_mut() {
        Some(last) if last.response == 0 && after <= most_apart => last.request += write.bytes,
        _ => all.push(Exchange { pause: rounded(after), request: write.bytes, ..Exchange::default() }),
    }
}

fn respond(all: &mut Vec<Exchange>, write: &Write, most_apart: Duration) {
    let after = write.when.after;
    match all.last_mut() {
        Some(last) if last.response == 0 => {
            last.wait = rounded(after);
            last.response = write.bytes;
        }
        Some(last) if after <= most_apart => last.response += write.bytes,
        _ => all.push(Exchange { pause: rounded(after), response: write.bytes, ..Exchange::default() }),
    }
}

/// A time in milliseconds: less is the hosts' own.
fn rounded(time: Duration) -> Duration {
    match time < AT_ONCE {
        true => Duration::ZERO,
        false => Duration::from_millis(((time.as_micros() + 500) / 1000) as u64),
    }
}

#[cfg(test)]
mod tests;
