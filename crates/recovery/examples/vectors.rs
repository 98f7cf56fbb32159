//! The engine as a child of `recoup drill --stack … FILE.json`: it answers the steps of test vectors (docs/conformance.md).
//!
//! ```sh
//! cargo build -p recoup-recovery --example vectors
//! recoup drill --stack target/debug/examples/vectors crates/recovery/vectors/rtt-and-rto.json
//! ```

use recoup_recovery::{Ack, Profile, Sender, Timer, Trigger};
use recoup_units::{Instant, Offset, Segments, Span};
use serde_json::{Map, Value, json};
use std::io::{self, BufRead, Write};
use std::time::Duration;

/// The values that it knows.
const VALUES: [&str; 11] =
    ["backoff", "cwnd", "nxt", "outstanding", "pipe", "rto_at_ns", "rto_ns", "rttvar_ns", "srtt_ns", "ssthresh", "una"];

fn main() -> io::Result<()> {
    let mut answers = io::stdout().lock();
    let mut case = None;
    for line in io::stdin().lock().lines() {
        let answer = answer(&line?, &mut case).unwrap_or_else(|error| json!({ "error": error }));
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

/// The answer to a line: of the first one of a case, or of a step.
fn answer(line: &str, case: &mut Option<Case>) -> Result<Value, String> {
    let line: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if line.get("recoup-vectors").is_none() {
        return case.as_mut().ok_or("a step before a case")?.step(&line);
    }
    let names = |part: &str| line[part].as_array().cloned().unwrap_or_default();
    let unknown = |name: &&Value| !VALUES.iter().any(|known| **name == *known);
    if let Some(name) = names("expect").iter().find(unknown) {
        return Ok(json!({ "lacks": format!("this example does not show {name}") }));
    }
    if line["settings"]["packets"] == true {
        return Ok(json!({ "lacks": "this example has no numbered packets" }));
    }
    *case = Some(Case::begin(&line["settings"])?);
    Ok(json!({ "name": "recoup-recovery", "version": env!("CARGO_PKG_VERSION") }))
}

/// A connection.
struct Case {
    sender: Sender,
    /// When it was established.
    origin: Instant,
    window: u64,
}

impl Case {
    /// The handshake. It gives one RTT sample, or none because the SYN was retransmitted.
    fn begin(settings: &Value) -> Result<Self, String> {
        let profile: Profile = settings["profile"].as_str().unwrap_or_default().parse().map_err(|e| format!("{e}"))?;
        let mss = settings["mss"].as_u64().and_then(|mss| u32::try_from(mss).ok()).ok_or("no `mss`")?;
        let window = settings["peer_window"].as_u64().ok_or("no `peer_window`")?;
        let mut sender = Sender::new(profile.mechanisms(), mss, Trigger::Syn, true);
        let mut now = Instant::ZERO;
        send_all(&mut sender, now);
        let rtt = settings["first_rtt_ns"].as_u64();
        if let (None, Some((at, timer))) = (rtt, sender.next_timer()) {
            now = at;
            sender.on_timer(now, timer);
            send_all(&mut sender, now);
        }
        let origin = now + Duration::from_nanos(rtt.unwrap_or(80_000_000));
        sender.on_ack(origin, &Ack::new(Offset::DATA, window));
        sender.set_sack(settings["sack"].as_bool().unwrap_or(true));
        Ok(Self { sender, origin, window })
    }

    fn step(&mut self, step: &Value) -> Result<Value, String> {
        let time = |nanos: &Value| nanos.as_u64().map(|nanos| self.origin.plus_nanos(nanos));
        let now = time(&step["at_ns"]).ok_or("no `at_ns`")?;
        let input = step["input"].as_object().and_then(|input| input.iter().next()).ok_or("no `input`")?;
        match (input.0.as_str(), input.1) {
            ("written", bytes) => self.sender.on_written(now, bytes.as_u64().ok_or("`written`: no number")?),
            ("ack", ack) => {
                let window = ack["window"].as_u64().unwrap_or(self.window);
                let to = Offset::DATA + ack["to"].as_u64().ok_or("`ack`: no `to`")?;
                let blocks = ack["sack"].as_array().map_or(&[][..], Vec::as_slice);
                let mut built = Ack::new(to, window).with_blocks(blocks.iter().filter_map(span));
                if let Some(sent) = time(&ack["echo_sent_at_ns"]) {
                    built.timestamp_rtt = Some(now.since(sent));
                    built.echo_sent_before = Some(sent.plus_nanos(1));
                }
                self.sender.on_ack(now, &built);
            }
            ("timer", name) => {
                let timer = Timer::ALL.into_iter().find(|timer| *name == timer.name());
                self.sender.on_timer(now, timer.ok_or("`timer`: unknown")?);
            }
            ("congestion", _) => self.sender.on_congestion_signal(now),
            ("sent", sent) => self.sent(now, sent)?,
            (other, _) => return Err(format!("input `{other}` is unknown")),
        }
        Ok(self.values())
    }

    /// The sender sends: what it wants to send must be that.
    fn sent(&mut self, now: Instant, sent: &Value) -> Result<(), String> {
        let end = span(&sent["range"]).ok_or("`sent`: no `range`")?.end;
        loop {
            let would = self.sender.next_send(now).ok_or("nothing is to be sent")?;
            self.sender.on_sent(now, would);
            match would.span() {
                Some(span) if span.end >= end => return Ok(()),
                _ => {}
            }
        }
    }

    fn values(&self) -> Value {
        let (s, nanos) = (&self.sender, |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
        let value = |name: &str| -> Value {
            match name {
                "backoff" => s.backoff().into(),
                "cwnd" => s.cwnd().0.into(),
                "nxt" => s.nxt().since(Offset::DATA).into(),
                "outstanding" => s.board().outstanding().0.into(),
                "pipe" => s.pipe().0.into(),
                "rto_at_ns" => s.deadline(Timer::Rto).map(|at| at.nanos_since(self.origin)).into(),
                "rto_ns" => nanos(s.rto()).into(),
                "rttvar_ns" => nanos(s.rtt().rttvar()).into(),
                "srtt_ns" => s.rtt().srtt().map(nanos).into(),
                "ssthresh" => Some(s.ssthresh()).filter(|&segments| segments != Segments::MAX).map(|s| s.0).into(),
                _ => s.una().since(Offset::DATA).into(),
            }
        };
        VALUES.iter().map(|&name| (name.to_owned(), value(name))).collect::<Map<_, _>>().into()
    }
}

fn send_all(sender: &mut Sender, now: Instant) {
    while let Some(what) = sender.next_send(now) {
        sender.on_sent(now, what);
    }
}

fn span(range: &Value) -> Option<Span> {
    let [start, end] = [range.get(0)?.as_u64()?, range.get(1)?.as_u64()?];
    Some(Span::new(Offset::DATA + start, Offset::DATA + end))
}
