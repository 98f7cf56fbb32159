//! A sender driven by the inputs of a vector, and what can be seen of it.
//!
//! A vector begins when the connection is established, and counts bytes of the stream, or packets, from zero.
//! The engine has the SYN at offset 0, and the first byte of data or the first packet at 1.

use crate::format::{Acknowledgment, Fields, Input, PacketsAcked, Sent};
use recoup_recovery::slp::Carried;
use recoup_recovery::undo::Proof;
use recoup_recovery::{Ack, AckSummary};
use recoup_recovery::{Event, LossDetector, Profile, Sender, Timer, Transmission, Trigger};
use recoup_units::{BitRate, Instant, Offset, Segments, Span};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The bytes of headers in a packet.
const HEADERS: u32 = 40;

pub struct Driver {
    pub sender: Sender,
    /// When the connection was established, by the engine's clock.
    origin: Instant,
    window: u64,
    copies: bool,
    /// Whether the sequence space numbers packets.
    packets: bool,
    /// Of the last step.
    events: Vec<Event>,
    summary: AckSummary,
    marks_before: u64,
    cwnd_before: Segments,
}

impl Driver {
    /// A sender that has just been established, with nothing written.
    pub fn new(settings: &Fields) -> Result<Self, String> {
        let number = |name: &str| settings.get(name).and_then(Value::as_u64);
        let needed = |name: &str| number(name).ok_or(format!("settings: no number \"{name}\""));
        let profile = settings.get("profile").and_then(Value::as_str);
        let profile: Profile = profile.ok_or("settings: no profile")?.parse().map_err(|e| format!("settings: {e}"))?;
        let mss = u32::try_from(needed("mss")?).map_err(|e| e.to_string())?;
        let mut driver = Self {
            sender: Sender::new(profile.mechanisms(), mss, Trigger::Syn, true),
            origin: Instant::ZERO,
            window: number("peer_window").unwrap_or(u64::MAX),
            copies: profile.mechanisms().slp.is_some(),
            packets: settings.get("packets").is_some_and(|v| *v == true),
            events: Vec::new(),
            summary: AckSummary::default(),
            marks_before: 0,
            cwnd_before: Segments::ZERO,
        };
        if driver.packets {
            driver.sender = Sender::of_packets(Instant::ZERO, profile.mechanisms(), mss);
            driver.sender.keep_events(true);
            if let Some(rtt) = number("first_rtt_ns") {
                driver.sender.seed_rtt(Duration::from_nanos(rtt));
            }
        } else {
            driver.connect(number("first_rtt_ns"));
            let sack = settings.get("sack").and_then(Value::as_bool);
            driver.sender.set_sack(sack.unwrap_or(true));
        }
        let is_set = |name: &str| settings.get(name).is_some_and(|v| *v == true);
        driver.sender.count_bytes(is_set("count_bytes"));
        driver.sender.set_paced(is_set("paced"));
        Ok(driver)
    }

    /// The handshake. It gives one RTT sample, or none because the SYN was retransmitted.
    fn connect(&mut self, first_rtt: Option<u64>) {
        let mut now = Instant::ZERO;
        self.send_all(now);
        if first_rtt.is_none()
            && let Some((at, timer)) = self.sender.next_timer()
        {
            now = at;
            self.sender.on_timer(now, timer);
            self.send_all(now);
        }
        self.origin = now + Duration::from_nanos(first_rtt.unwrap_or(80_000_000));
        let ack = Ack::new(Offset::DATA, self.window);
        self.sender.on_ack(self.origin, &ack);
        self.sender.drain_events().for_each(drop);
    }

    fn send_all(&mut self, now: Instant) {
        while let Some(what) = self.sender.next_send(now) {
            self.sender.on_sent(now, what);
        }
    }

    /// The time `at_ns` after the connection was established, by the engine's clock.
    pub fn time(&self, at_ns: u64) -> Instant {
        self.origin.plus_nanos(at_ns)
    }

    /// Since the connection was established.
    pub fn since_start(&self, at: Instant) -> u64 {
        at.nanos_since(self.origin)
    }

    /// The next transmission.
    pub fn next(&self, at_ns: u64) -> Option<Transmission> {
        self.sender.next_send(self.time(at_ns))
    }

    /// Before each step: forgets what the last one showed.
    pub fn begin_step(&mut self) {
        self.events.clear();
        self.summary = AckSummary::default();
        self.marks_before = self.sender.board().marks();
        self.cwnd_before = self.sender.cwnd();
    }

    /// Applies an input other than [`Input::Sent`].
    pub fn apply(&mut self, at_ns: u64, input: &Input) -> Result<(), String> {
        let now = self.time(at_ns);
        match input {
            Input::Written(bytes) => self.sender.on_written(now, *bytes),
            Input::Ack(ack) => {
                let ack = self.ack(now, ack);
                self.summary = self.sender.on_ack(now, &ack);
            }
            Input::PacketsAcked(acked) => self.acknowledge(now, acked),
            Input::Timer(name) => {
                let timer = timer(name)?;
                if self.sender.deadline(timer).is_none_or(|at| at > now) {
                    return Err(format!("the timer {name} is not due"));
                }
                self.sender.on_timer(now, timer);
            }
            Input::Congestion(_) => self.sender.on_congestion_signal(now),
            Input::Sent(sent) => return Err(format!("{} is to be sent one by one", sent.kind)),
        }
        while self.packets && self.sender.take_lost(now).is_some() {}
        self.take_events();
        self.sender.check()
    }

    fn acknowledge(&mut self, now: Instant, acked: &PacketsAcked) {
        let ranges: Vec<Span> = acked.ranges.iter().map(|&range| span(range)).collect();
        let delay = Duration::from_nanos(acked.delay_ns.unwrap_or(0));
        self.summary = self.sender.on_packets_acked(now, &ranges, delay, |_| {});
    }

    /// One segment is sent. `push`: it has PSH set. `size`: the bytes of a packet that is not full.
    pub fn send(&mut self, at_ns: u64, what: Transmission, size: Option<u32>, push: bool) -> Result<(), String> {
        let now = self.time(at_ns);
        let stream = what.span().filter(|_| !self.packets);
        let full = stream.map_or(self.sender.mss(), |span| span.len() as u32);
        let size = size.unwrap_or(full);
        let sent = self.sender.on_packet_sent(now, what, size, 0);
        sent.map_err(|refused| refused.to_string())?;
        if let Some(span) = what.span().filter(|_| what.is_new() && self.copies) {
            let ip_len = span.len() as u32 + HEADERS;
            self.sender.offer_copy(now, span, Carried { ip_len, push });
        }
        self.take_events();
        self.sender.check()
    }

    fn take_events(&mut self) {
        self.events.extend(self.sender.drain_events().map(|(_, event)| event));
    }

    fn ack(&self, now: Instant, ack: &Acknowledgment) -> Ack {
        let window = ack.window.unwrap_or(self.window);
        let blocks = ack.sack.iter().map(|&range| span(range));
        let mut built = Ack::new(Offset::DATA + ack.to, window).with_blocks(blocks);
        if let Some(sent) = ack.echo_sent_at_ns {
            let sent = self.time(sent);
            built.timestamp_rtt = Some(now.since(sent));
            built.echo_sent_before = Some(sent.plus_nanos(1));
        }
        built
    }

    /// The segments of a step that reports sending.
    pub fn segments(&self, sent: &Sent) -> Result<Vec<Transmission>, String> {
        let Some([start, end]) = sent.range else {
            return Ok(vec![Transmission::WindowProbe]);
        };
        let size = self.full();
        let starts = (start..end).step_by(size as usize);
        starts.map(|from| transmission(&sent.kind, span([from, end.min(from + size)]))).collect()
    }

    /// The sequence space of a full segment.
    pub fn full(&self) -> u64 {
        match self.packets {
            true => 1,
            false => u64::from(self.sender.mss()),
        }
    }

    /// The value of a field of `given` or `expect`.
    pub fn field(&self, at_ns: u64, name: &str) -> Result<Value, String> {
        let s = &self.sender;
        let (rtt, board, summary) = (s.rtt(), s.board(), &self.summary);
        let happened = |event: Event| self.events.contains(&event);
        Ok(match name {
            "una" => stream(s.una()).into(),
            "nxt" => stream(s.nxt()).into(),
            "unsent" => s.limit().since(s.nxt()).into(),
            "outstanding" => board.outstanding().0.into(),
            "sacked" => board.sacked().0.into(),
            "pipe" => s.pipe().0.into(),
            "bytes_in_flight" => s.bytes_in_flight().into(),
            "pacing_bits_per_s" => s.pacing_rate().map(BitRate::bits_per_second).into(),
            "departure_at_ns" => self.departure(at_ns).into(),
            "state" => s.state().name().into(),
            "cwnd" => s.cwnd().0.into(),
            "cwnd_before" => self.cwnd_before.0.into(),
            "ssthresh" => match s.ssthresh() {
                Segments::MAX => Value::Null,
                segments => segments.0.into(),
            },
            "dupthresh" => s.reordering().0.into(),
            "srtt_ns" => rtt.srtt().map(nanos).into(),
            "rttvar_ns" => nanos(rtt.rttvar()).into(),
            "min_rtt_ns" => rtt.min().map(nanos).into(),
            "rto_ns" => nanos(s.rto()).into(),
            "backoff" => s.backoff().into(),
            "rto_at_ns" => self.deadline(Timer::Rto),
            "probe_at_ns" => self.deadline(Timer::Probe),
            "early_at_ns" => self.deadline(Timer::Early),
            "reorder_at_ns" => self.deadline(Timer::Reorder),
            "persist_at_ns" => self.deadline(Timer::Persist),
            "copy_at_ns" => self.deadline(Timer::Copy),
            "rtt_sample_ns" => self.rtt_sample(),
            "acked_bytes" => summary.una_advanced.into(),
            "newly_acked" => summary.newly_acked.0.into(),
            "newly_sacked" => summary.newly_sacked.0.into(),
            "delivered" => summary.delivered.0.into(),
            "late" => summary.late.0.into(),
            "newly_lost" => (board.marks() - self.marks_before).into(),
            "marked_lost" => self.marked_lost(),
            "undone_by" => self.undone_by(),
            "probe_repaired_loss" => happened(Event::ProbeRepairedLoss).into(),
            "reneged" => happened(Event::Reneged).into(),
            "next" => self.next(at_ns).map_or(Value::Null, describe),
            _ => return Err(format!("unknown field \"{name}\"")),
        })
    }

    /// When the next segment may leave.
    pub fn departure(&self, at_ns: u64) -> u64 {
        self.since_start(self.sender.next_departure(self.time(at_ns)))
    }

    fn deadline(&self, timer: Timer) -> Value {
        let at = self.sender.deadline(timer);
        at.map(|at| self.since_start(at)).into()
    }

    fn rtt_sample(&self) -> Value {
        let sample = |event: &Event| match event {
            Event::RttSample { rtt, .. } => Some(nanos(*rtt)),
            _ => None,
        };
        self.events.iter().find_map(sample).into()
    }

    fn undone_by(&self) -> Value {
        let proof = |event: &Event| match event {
            Event::Undone { by, .. } => Some(Proof::name(*by)),
            _ => None,
        };
        self.events.iter().find_map(proof).into()
    }

    /// The ranges marked lost by each loss detector.
    fn marked_lost(&self) -> Value {
        let mut marked: Vec<(LossDetector, Vec<[u64; 2]>)> = Vec::new();
        for event in &self.events {
            let Event::MarkedLost { span, by } = *event else {
                continue;
            };
            let [start, end] = range(span);
            if marked.last().is_none_or(|(last, _)| *last != by) {
                marked.push((by, Vec::new()));
            }
            let ranges = &mut marked.last_mut().expect("just pushed").1;
            match ranges.last_mut() {
                Some(last) if last[1] == start => last[1] = end,
                _ => ranges.push([start, end]),
            }
        }
        let named = marked.into_iter().map(|(by, r)| (by.name().into(), json!(r)));
        Value::Object(named.collect::<Map<_, _>>())
    }
}

/// Whether other mechanisms have something to say about a step with this input. Writing and sending give them
/// nothing to determine.
pub fn given_with(input: &Input) -> bool {
    !matches!(input, Input::Written(_) | Input::Sent(_))
}

/// The next transmission, in the form of the field `next`.
pub fn describe(what: Transmission) -> Value {
    let sent = describe_sent(what);
    match sent.range {
        Some(range) => json!({"kind": sent.kind, "range": range}),
        None => json!({"kind": sent.kind}),
    }
}

/// A transmission.
pub fn describe_sent(what: Transmission) -> Sent {
    let kind = match what {
        Transmission::New(_) => "new",
        Transmission::NewProbe(_) => "new_probe",
        Transmission::Again(_, trigger) => trigger.name(),
        Transmission::Copy(_) => "copy",
        Transmission::WindowProbe => "window_probe",
    };
    Sent { kind: kind.into(), range: what.span().map(range), size: None, push: false }
}

fn transmission(kind: &str, span: Span) -> Result<Transmission, String> {
    let trigger = || Trigger::ALL.into_iter().find(|t| t.name() == kind);
    Ok(match kind {
        "new" => Transmission::New(span),
        "new_probe" => Transmission::NewProbe(span),
        "copy" => Transmission::Copy(span),
        _ => Transmission::Again(span, trigger().ok_or(format!("unknown kind \"{kind}\""))?),
    })
}

fn timer(name: &str) -> Result<Timer, String> {
    let timer = Timer::ALL.into_iter().find(|timer| timer.name() == name);
    timer.ok_or(format!("unknown timer \"{name}\""))
}

fn stream(offset: Offset) -> u64 {
    offset.since(Offset::DATA)
}

fn span([start, end]: [u64; 2]) -> Span {
    Span::new(Offset::DATA + start, Offset::DATA + end)
}

fn range(span: Span) -> [u64; 2] {
    [stream(span.start), stream(span.end)]
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}
