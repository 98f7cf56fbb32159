//! Waits for the packets that a script expects, and compares those that leave.

use super::{
    Runner, Stop, Window,
    expect::{self, Strictness},
    guest,
    host::Sent,
    report::{micros, seconds, shown},
    window_text,
};
use crate::{packet::Packet, wire::Clock};
use recoup_wire::Flags;

impl Runner<'_> {
    /// Checks that the next outgoing packet is this one.
    pub fn expect(&mut self, expected: &Packet, window: Window) -> Result<(), Stop> {
        for segment in expect::segments(expected, self.mss(), self.setup.pushes_bursts()) {
            self.await_packet(&segment, window)?;
            if let Some(sent) = self.host.outbox.pop_front() {
                self.compare(&segment, &sent, window)?;
            }
        }
        self.overdue(window.from)?;
        self.host.now = self.host.now.max(window.from);
        Ok(())
    }

    /// Checks that the next outgoing packet is one of these. What it is not is said by the first.
    pub fn expect_one_of(&mut self, packets: &[Packet], window: Window) -> Result<(), Stop> {
        let Some(first) = packets.first() else { return Ok(()) };
        let one = |packet: &Packet| expect::Expected { packet: packet.clone(), may_push: false };
        self.await_packet(&one(first), window)?;
        let same = |packet: &&Packet| {
            self.host.outbox.front().is_some_and(|sent| self.differences(&one(packet), sent, window).0.is_empty())
        };
        let chosen = packets.iter().find(same).unwrap_or(first);
        self.expect(chosen, window)
    }

    /// The payload of a full segment that the machine sends.
    fn mss(&self) -> u32 {
        match (&self.host.guest, &self.host.endpoint) {
            (Some(guest), _) => guest.mss(),
            (None, Some(endpoint)) => endpoint.info(self.host.now).snd_mss,
            (None, None) => u32::MAX,
        }
    }

    /// Lets time pass until a packet has left that is not just allowed.
    fn await_packet(&mut self, expected: &expect::Expected, window: Window) -> Result<(), Stop> {
        loop {
            let sent = self.host.outbox.front();
            if sent.is_some_and(|sent| self.differences(expected, sent, window).0.is_empty()) {
                return Ok(());
            }
            self.drop_allowed();
            if !self.host.outbox.is_empty() {
                return Ok(());
            }
            match self.next_wake().filter(|at| micros(*at) <= micros(window.to)) {
                Some(_) => self.wake()?,
                None => return Err(self.nothing_left(&expected.packet, window)),
            }
        }
    }

    /// Takes out the next packets that left, as far as they are allowed: once, or any segment of a longer packet ever again.
    pub fn drop_allowed(&mut self) {
        let mss = self.mss();
        while let Some(sent) = self.host.outbox.front() {
            let is = |(packet, window): &(&Packet, Window)| {
                let allowed = expect::allowed(packet, &sent.packet, mss);
                self.differences(&allowed, sent, *window).0.is_empty()
            };
            let Some(index) = self.allowed.iter().position(is) else { return };
            if self.allowed.get(index).is_some_and(|(packet, _)| packet.payload_len <= mss) {
                self.allowed.remove(index);
            }
            self.host.outbox.pop_front();
        }
    }

    /// How a packet that left differs from what is expected, and the clock that this teaches.
    fn differences(&self, expected: &expect::Expected, sent: &Sent, window: Window) -> (Vec<String>, Clock) {
        let mut clock = self.host.numbers.clock.clone();
        let strictness = if self.host.guest.is_some() { Strictness::Guest } else { Strictness::Exact };
        let mut found = expect::differences(expected, &sent.packet, &mut clock, strictness);
        let at = micros(sent.at);
        if at < micros(window.from) {
            let early = micros(window.from) - at;
            found.insert(0, format!("{:.6} s too early", early as f64 / 1e6));
        } else if at > micros(window.to) {
            let late = at - micros(window.to);
            found.insert(0, format!("{:.6} s too late", late as f64 / 1e6));
        }
        (found, clock)
    }

    fn compare(&mut self, expected: &expect::Expected, sent: &Sent, window: Window) -> Result<(), Stop> {
        self.check_needs(sent)?;
        let (found, clock) = self.differences(expected, sent, window);
        self.host.numbers.clock = clock;
        if found.is_empty() {
            return Ok(());
        }
        let message = format!("the packet is not as expected: {}", found.join("; "));
        let actual = format!("{} > {}", seconds(sent.at), shown(&sent.packet, &self.host.numbers.clock));
        let expected = format!("{} > {}", window_text(window), expected.packet);
        let compared = Some((expected, actual));
        Err(self.failed_after(sent.crossed, message, compared))
    }

    /// A guest's SYN shows whether the script applies to it.
    fn check_needs(&self, sent: &Sent) -> Result<(), Stop> {
        if self.host.guest.is_none() || !sent.packet.flags.contains(Flags::SYN) {
            return Ok(());
        }
        match self.script.head.needs.iter().find(|need| !guest::offers(&sent.options, **need)) {
            Some(need) => Err(self.not_applicable(format!("its SYN has no option `{}`", need.name()))),
            None => Ok(()),
        }
    }

    fn nothing_left(&self, expected: &Packet, window: Window) -> Stop {
        let next = match self.next_wake() {
            Some(at) => format!("the next timer goes off at {}", seconds(at)),
            None => "no timer runs".into(),
        };
        let compared = (format!("{} > {expected}", window_text(window)), format!("nothing; {next}"));
        self.failed("no packet left by then".into(), Some(compared))
    }

    /// The failure for the first packet in the outbox, which the script does not expect.
    pub fn unexpected(&self, when: &str) -> Stop {
        let Some(sent) = self.host.outbox.front() else {
            return self.failed("no packet left".into(), None);
        };
        let packet = shown(&sent.packet, &self.host.numbers.clock);
        let message = format!("a packet left at {} that the script does not expect, {when}", seconds(sent.at));
        let compared = ("no packet".into(), format!("{} > {packet}", seconds(sent.at)));
        self.failed_after(sent.crossed, message, Some(compared))
    }
}
