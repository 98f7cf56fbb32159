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
mod tests {
    use super::*;
    use recoup_support::exchange;
    use recoup_tcp::flow::When;

    fn script(writes: &[(u64, u64, u64)]) -> Script {
        let write = |&(received, ms, bytes): &(u64, u64, u64)| Write {
            when: When { received, acknowledged: 0, after: Duration::from_millis(ms) },
            bytes,
        };
        Script::of(&writes.iter().map(write).collect::<Vec<_>>())
    }

    /// The exchanges of a sending server as text. Writes: (bytes received, ms after, bytes).
    fn text(client: &[(u64, u64, u64)], server: &[(u64, u64, u64)]) -> String {
        let [client, server] = [client, server].map(script);
        let client = Writer::observed(&client, Duration::from_millis(80));
        let found = exchanges(&client, &Writer::rerun(&server));
        let text = exchange::format(&found);
        assert_eq!(exchange::parse(&text), Ok(found), "{text}");
        text
    }

    #[test]
    fn units_end_where_the_other_end_replies_or_the_application_pauses() {
        for (client, server, expected) in [
            (&[(0, 0, 300)][..], &[(300, 0, 20_000)][..], "300B>20kB"),
            // The peer's packets arrive one by one; the server takes 30 ms.
            (&[(0, 0, 1448), (0, 90, 1448), (0, 1, 104)], &[(3000, 30, 5000)], "3kB>30ms>5kB"),
            // Kept connections: think times of the client, and pauses of the server.
            (
                &[(0, 1, 300), (9000, 1200, 310), (9500, 0, 320)],
                &[(300, 0, 9000), (610, 0, 500), (930, 0, 5), (930, 700, 6)],
                "300B>9kB,1200ms,310B>500B,320B>5B,700ms,0>6B",
            ),
            // The server speaks first.
            (&[(20, 3, 7)], &[(0, 0, 20), (7, 0, 1)], "0>20B,3ms,7B>1B"),
            // An upload without a response, and one after a pause.
            (&[(0, 0, 9000), (0, 2000, 9000)], &[], "9kB>0,2s,9kB>0"),
            // A write that waits for more than there is comes last.
            (&[(0, 0, 5)], &[(5, 0, 6), (99, 0, 7)], "5B>13B"),
            (&[], &[], "none"),
        ] {
            assert_eq!(text(client, server), expected);
        }
    }
}
