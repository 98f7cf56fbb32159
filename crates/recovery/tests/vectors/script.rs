//! Writes a case: a hand-chosen script in milliseconds and segment numbers, and what the engine does.
//!
//! ```text
//! s.write(10).at(80).sack(0, &[2..=4])
//! ```
//! reads: ten segments are written as the connection is established; 80 ms later an ACK arrives that
//! acknowledges nothing and SACKs segments 2 to 4. After each input the sender sends all it wants to. Time
//! cannot pass a timer that is due.

use crate::driver::{Driver, describe_sent, given_with};
use crate::format::{Acknowledgment, Case, Fields, File, Input, PacketsAcked, Sent, Step};
use crate::settings::setting;
use recoup_recovery::{Profile, Timer};
use recoup_units::Offset;
use serde_json::json;
use std::ops::RangeInclusive;

/// Payload of a full segment, in bytes.
pub const MSS: u64 = 1000;
const MS: u64 = 1_000_000;

/// The description of a mechanism in its file.
pub struct About {
    pub mechanism: &'static str,
    pub about: &'static str,
    pub source: &'static str,
    /// The settings that matter besides those that every case has.
    pub settings: &'static [&'static str],
    pub given: &'static [&'static str],
    pub expect: &'static [&'static str],
}

impl About {
    /// The file, with the cases that `write` adds.
    pub fn file(self, write: impl FnOnce(&mut Cases)) -> File {
        let mut cases = Cases { about: self, done: Vec::new() };
        write(&mut cases);
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
        File {
            schema: "recoup.vectors".into(),
            version: 1,
            mechanism: cases.about.mechanism.into(),
            about: cases.about.about.into(),
            source: cases.about.source.into(),
            given: names(cases.about.given),
            expect: names(cases.about.expect),
            cases: cases.done,
        }
    }
}

/// The cases of a file.
pub struct Cases {
    about: About,
    done: Vec<Case>,
}

/// The settings with which a case differs from the others.
#[derive(Clone, Copy)]
pub struct Start {
    pub profile: &'static str,
    /// The handshake's RTT sample in ms; `None`: the SYN was retransmitted.
    pub rtt: Option<u64>,
    pub window: u64,
    pub sack: bool,
    /// Packets are numbered, from 0.
    pub packets: bool,
    /// Windows count bytes.
    pub count_bytes: bool,
    /// Segments leave when the pacing rate lets them.
    pub paced: bool,
}

/// A sender of numbered packets by `profile`, with a first RTT sample of `rtt` ms.
pub fn packets(profile: &'static str, rtt: u64) -> Start {
    Start { packets: true, ..start(profile, rtt) }
}

/// A sender of `profile` whose handshake took `rtt` ms.
pub fn start(profile: &'static str, rtt: u64) -> Start {
    Start { profile, rtt: Some(rtt), window: 1 << 20, sack: true, packets: false, count_bytes: false, paced: false }
}

impl Cases {
    /// Adds the case that `write` scripts.
    pub fn add(&mut self, name: &str, source: &str, start: Start, write: impl FnOnce(&mut Script)) {
        let profile: Profile = start.profile.parse().expect("a profile");
        let mut settings = vec![
            ("profile".to_owned(), json!(start.profile)),
            ("mss".to_owned(), json!(MSS)),
            ("first_rtt_ns".to_owned(), json!(start.rtt.map(|ms| ms * MS))),
        ];
        let own = match start.packets {
            true => vec![("packets", json!(true))],
            false => {
                vec![("peer_window", json!(start.window)), ("sack", json!(start.sack && profile.mechanisms().sack))]
            }
        };
        let windows = [("count_bytes", start.count_bytes), ("paced", start.paced)];
        let windows = windows.into_iter().filter(|(_, on)| *on);
        let own = own.into_iter().chain(windows.map(|(name, on)| (name, json!(on))));
        settings.extend(own.map(|(name, value)| (name.into(), value)));
        let more = self.about.settings.iter();
        settings.extend(more.map(|&name| (name.into(), setting(profile.mechanisms(), name))));
        let settings = Fields(settings);
        let mut script = Script {
            driver: Driver::new(&settings).expect("settings"),
            given: self.about.given,
            expect: self.about.expect,
            at_ns: 0,
            unit: if start.packets { 1 } else { MSS },
            window: None,
            echo: None,
            delay: None,
            size: None,
            paced: start.paced,
            writes_end: Vec::new(),
            copies: profile.mechanisms().slp.is_some(),
            steps: Vec::new(),
        };
        write(&mut script);
        self.done.push(Case { name: name.into(), source: source.into(), settings, steps: script.steps });
    }
}

/// A case as it is written.
pub struct Script {
    driver: Driver,
    given: &'static [&'static str],
    expect: &'static [&'static str],
    at_ns: u64,
    /// The bytes of payload by which segments are numbered.
    unit: u64,
    window: Option<u64>,
    echo: Option<u64>,
    delay: Option<u64>,
    size: Option<u32>,
    paced: bool,
    /// Where writes ended: the segment that ends there has PSH set.
    writes_end: Vec<u64>,
    copies: bool,
    steps: Vec<Step>,
}

impl Script {
    /// It is `ms` now.
    #[track_caller]
    pub fn at(&mut self, ms: u64) -> &mut Self {
        self.at_ns(ms * MS)
    }

    #[track_caller]
    fn at_ns(&mut self, at_ns: u64) -> &mut Self {
        assert!(at_ns >= self.at_ns, "time runs backwards to {at_ns} ns");
        if let Some((at, timer)) = self.driver.sender.next_timer() {
            let at = self.driver.since_start(at);
            assert!(at >= at_ns, "{timer:?} is due at {at}, before {at_ns} ns");
        }
        self.at_ns = at_ns;
        self
    }

    /// It is `ms` later.
    #[track_caller]
    pub fn after(&mut self, ms: u64) -> &mut Self {
        self.at_ns(self.at_ns + ms * MS)
    }

    /// The application writes `segments` full segments.
    pub fn write(&mut self, segments: u64) -> &mut Self {
        self.write_bytes(segments * self.unit)
    }

    /// The application writes `count` segments of `bytes` one by one, and segments are numbered by them.
    pub fn write_small(&mut self, count: u64, bytes: u64) -> &mut Self {
        self.unit = bytes;
        for _ in 0..count {
            self.write(1);
        }
        self
    }

    /// The application writes this many bytes.
    pub fn write_bytes(&mut self, bytes: u64) -> &mut Self {
        let end = self.writes_end.last().copied().unwrap_or_default();
        self.writes_end.push(end + bytes);
        self.takes(Input::Written(bytes))
    }

    /// An ACK of everything through segment `n` arrives.
    #[track_caller]
    pub fn ack(&mut self, n: u64) -> &mut Self {
        self.sack(n, &[])
    }

    /// An ACK through segment `n` that SACKs `blocks`, in the order of the option.
    #[track_caller]
    pub fn sack(&mut self, n: u64, blocks: &[RangeInclusive<u64>]) -> &mut Self {
        let unit = self.unit;
        let sent = self.driver.sender.nxt().since(Offset::DATA);
        assert!(n * unit <= sent, "an ACK of data never sent");
        let range = |b: &RangeInclusive<u64>| [(b.start() - 1) * unit, b.end() * unit];
        let ack = Acknowledgment {
            to: n * unit,
            sack: blocks.iter().map(range).collect(),
            window: self.window,
            echo_sent_at_ns: self.echo.take().map(|ms| ms * MS),
        };
        self.takes(Input::Ack(ack))
    }

    /// At each time, an ACK through this segment arrives with these blocks: [`at`](Self::at) and
    /// [`sack`](Self::sack) in turn.
    #[track_caller]
    pub fn acknowledged(&mut self, acks: &[(u64, u64, &[RangeInclusive<u64>])]) -> &mut Self {
        for (ms, n, blocks) in acks {
            self.at(*ms).sack(*n, blocks);
        }
        self
    }

    /// The packets with these numbers are acknowledged.
    pub fn acks(&mut self, numbers: &[RangeInclusive<u64>]) -> &mut Self {
        let ranges = numbers.iter().map(|n| [*n.start(), n.end() + 1]);
        let delay_ns = self.delay.take().map(|ms| ms * MS);
        self.takes(Input::PacketsAcked(PacketsAcked { ranges: ranges.collect(), delay_ns }))
    }

    /// The receiver held the next acknowledgment back for `ms`.
    pub fn delayed(&mut self, ms: u64) -> &mut Self {
        self.delay = Some(ms);
        self
    }

    /// Packets have `bytes` from now on.
    pub fn sized(&mut self, bytes: u32) -> &mut Self {
        self.size = Some(bytes);
        self
    }

    /// Nothing happens until the next segment may leave.
    #[track_caller]
    pub fn departs(&mut self) -> &mut Self {
        self.at_ns(self.driver.departure(self.at_ns));
        self.send_all();
        self
    }

    /// Bursts leave whenever the sender's own pacing lets them, until `ms`.
    #[track_caller]
    pub fn paced_until(&mut self, ms: u64) -> &mut Self {
        while let Some((at, Timer::Pacing)) = self.driver.sender.next_timer()
            && self.driver.since_start(at) < ms * MS
        {
            self.fires(Timer::Pacing);
        }
        self.at(ms)
    }

    /// The next ACK echoes the timestamp of a segment sent at `ms`.
    pub fn echoing(&mut self, ms: u64) -> &mut Self {
        self.echo = Some(ms);
        self
    }

    /// ACKs offer `bytes` from now on.
    pub fn window(&mut self, bytes: u64) -> &mut Self {
        self.window = Some(bytes);
        self
    }

    /// The network signals congestion without a loss.
    pub fn congested(&mut self) -> &mut Self {
        self.takes(Input::Congestion(true))
    }

    /// Nothing happens until `timer` fires.
    #[track_caller]
    pub fn fires(&mut self, timer: Timer) -> &mut Self {
        let (at, next) = self.driver.sender.next_timer().expect("a timer runs");
        assert_eq!(next, timer, "the timer that fires next");
        self.at_ns = self.driver.since_start(at);
        self.takes(Input::Timer(timer.name().into()))
    }

    /// The time, in whole milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.at_ns / MS
    }

    /// The segments or packets sent so far, and those below the lowest unacknowledged one.
    pub fn sent_and_acked(&self) -> (u64, u64) {
        let sender = &self.driver.sender;
        let count = |offset: Offset| offset.since(Offset::DATA) / self.driver.full();
        (count(sender.nxt()), count(sender.una()))
    }

    fn takes(&mut self, input: Input) -> &mut Self {
        self.driver.begin_step();
        self.driver.apply(self.at_ns, &input).expect("an input");
        self.put_down(input);
        self.send_all();
        self
    }

    /// The sender sends all it wants to. Consecutive segments sent for one reason make one step.
    fn send_all(&mut self) {
        let mut run: Option<Sent> = None;
        while let Some(what) = self.driver.next(self.at_ns)
            && !(self.paced && self.driver.departure(self.at_ns) > self.at_ns)
        {
            let mut sent = describe_sent(what);
            sent.size = self.size.filter(|_| what.is_new());
            let push = self.copies && what.is_new() && self.ends_a_write(&sent);
            let full = self.driver.full();
            if let Some(before) = run.take_if(|run| !continues(run, &sent, full)) {
                self.put_down(Input::Sent(before));
            }
            if run.is_none() {
                self.driver.begin_step();
            }
            let outcome = self.driver.send(self.at_ns, what, self.size, push);
            outcome.expect("a segment");
            let start = run.and_then(|run| run.range).or(sent.range);
            let range = start.zip(sent.range).map(|(all, this)| [all[0], this[1]]);
            run = Some(Sent { push, range, ..sent });
        }
        if let Some(run) = run {
            self.put_down(Input::Sent(run));
        }
    }

    fn ends_a_write(&self, sent: &Sent) -> bool {
        sent.range.is_some_and(|[_, end]| self.writes_end.contains(&end))
    }

    fn put_down(&mut self, input: Input) {
        let fields = |names: &[&str]| {
            let value = |name: &str| self.driver.field(self.at_ns, name).expect("a field");
            Fields(names.iter().map(|&name| (name.to_owned(), value(name))).collect())
        };
        let given = match given_with(&input) {
            true => fields(self.given),
            false => Fields::default(),
        };
        let expect = fields(self.expect);
        self.steps.push(Step { at_ns: self.at_ns, input, given, expect });
    }
}

/// Whether `sent` continues a run of full segments.
fn continues(run: &Sent, sent: &Sent, size: u64) -> bool {
    let full = |[start, end]: [u64; 2]| (end - start) % size == 0;
    run.kind == sent.kind
        && !run.push
        && run.range.is_some_and(full)
        && run.range.map(|r| r[1]) == sent.range.map(|r| r[0])
}
