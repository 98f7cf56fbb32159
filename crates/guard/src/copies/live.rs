//! Interfaces: packets in, copies out.

use crate::copies::event::Named;
use crate::copies::guard::{Guard, Reports};
use crate::copies::packet::{ETHERNET, Odd, Packet};
use crate::copies::report::Report;
use recoup::signals::Signals;
use recoup::{Failure, console};
use recoup_captures::filter::{Filter, kernel_program};
use recoup_kernel::{DuplicateReportCounts, DuplicateReports};
use recoup_net::{LinkLayer, NetError, PacketRing, PacketSocketOptions, Readiness, RingFrame};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use recoup_wire::bpf::Framing;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::time::{self, Duration, SystemTime};

/// The longest time that a frame waits in the kernel before it is handed over.
const HELD: Duration = Duration::from_millis(1);

/// How long the program sleeps at most.
const SLEEP: Duration = Duration::from_millis(200);

/// How often the kernel is asked what it dropped, and how long it is known whether an address is this host's.
const OFTEN: Duration = Duration::from_secs(1);
const KNOWN: Duration = Duration::from_secs(10);

/// Bytes of a frame that are kept: all of them, because its last segment may be sent again.
const WHOLE: u32 = 1 << 16;

/// The time since 1970, by the clock of the frames.
pub fn now() -> Instant {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// The interfaces.
pub struct Live {
    rings: Vec<PacketRing>,
    allow: Option<Filter>,
    own: Own,
    reports: Hidden,
    signals: Signals,
}

/// Which addresses are this host's: packets that it forwards are not its own.
#[derive(Default)]
struct Own(HashMap<IpAddr, (bool, Option<time::Instant>)>);

impl Own {
    fn has(&mut self, address: IpAddr) -> bool {
        let now = time::Instant::now();
        if self.0.len() > 4096 {
            self.0.clear();
        }
        let (is_own, asked) = self.0.entry(address).or_default();
        if asked.is_none_or(|asked| now - asked > KNOWN) {
            // Only an address of this host can be bound.
            (*is_own, *asked) = (UdpSocket::bind((address, 0)).is_ok(), Some(now));
        }
        *is_own
    }
}

/// Programs that keep reports of duplicates from the kernel, by interface.
#[derive(Default)]
struct Hidden {
    by_interface: HashMap<u32, DuplicateReports>,
    why_not: Option<String>,
}

impl Hidden {
    fn attach(rings: &[PacketRing]) -> Self {
        let mut hidden = Self::default();
        for ring in rings {
            match DuplicateReports::attach(ring.interface().unwrap_or_default()) {
                Ok(reports) => _ = hidden.by_interface.insert(ring.index(), reports),
                Err(why) => return Self { by_interface: HashMap::new(), why_not: Some(why.to_string()) },
            }
        }
        hidden
    }

    fn counts(&self) -> DuplicateReportCounts {
        let mut sum = DuplicateReportCounts::default();
        for counts in self.by_interface.values().map(DuplicateReports::counts) {
            sum.hidden += counts.hidden;
            sum.dropped += counts.dropped;
            sum.not_understood += counts.not_understood;
        }
        sum
    }
}

/// If one of these fails, the connection's reports reach the kernel, as they do without the guard.
impl Reports for Hidden {
    fn hide(&mut self, what: &Named, interface: u32) -> io::Result<()> {
        let reports = self.by_interface.get_mut(&interface).ok_or(io::ErrorKind::NotFound)?;
        reports.hide(&what.connection, what.seq, what.seq + what.len).map_err(io::Error::other)
    }

    fn show(&mut self, what: &Named) {
        for reports in self.by_interface.values_mut() {
            _ = reports.stop_hiding(&what.connection, what.seq, what.seq + what.len);
        }
    }

    fn forget(&mut self, connection: &Endpoints) {
        for reports in self.by_interface.values_mut() {
            _ = reports.forget(connection);
        }
    }
}

impl Live {
    /// Opens the interfaces.
    ///
    /// # Errors
    /// An unknown interface, or missing rights.
    pub fn open(names: &[String], allow: Option<&Filter>, hides: bool) -> Result<Self, Failure> {
        let options = PacketSocketOptions {
            ethernet_filter: kernel_program(allow, Framing::Ethernet, WHOLE),
            network_filter: kernel_program(allow, Framing::Network, WHOLE),
            block_timeout: HELD,
            ..PacketSocketOptions::default()
        };
        let open = |name: &String| PacketRing::open(Some(name), &options);
        let rings = names.iter().map(open).collect::<Result<Vec<_>, NetError>>()?;
        let reports = if hides { Hidden::attach(&rings) } else { Hidden::default() };
        let signals = Signals::new(false)?;
        Ok(Self { rings, allow: allow.cloned(), own: Own::default(), reports, signals })
    }

    /// Reports that were kept from the kernel.
    pub fn hidden(&self) -> DuplicateReportCounts {
        self.reports.counts()
    }

    /// Why the reports of copies reach the kernel, if that is to be prevented and is not.
    pub fn why_not_hidden(&self) -> Option<&str> {
        self.reports.why_not.as_deref()
    }

    /// Guards until a signal comes, or until `most` has passed. `false`: no interface is left.
    ///
    /// # Errors
    /// When an interface cannot be read, or the log not be written.
    pub fn run(&mut self, guard: &mut Guard, report: &mut Report, most: Option<Duration>) -> Result<bool, Failure> {
        let end = most.map(|most| time::Instant::now() + most);
        let mut next_statistics = time::Instant::now() + OFTEN;
        while !self.signals.is_end() && !self.rings.is_empty() && end.is_none_or(|end| time::Instant::now() < end) {
            let until_due = guard.next_time().map_or(SLEEP, |at| (at + HELD).since(now()));
            self.wait(until_due.min(SLEEP))?;
            self.read(guard);
            let now = now();
            let rings = &self.rings;
            let mut send = |frame: &[u8], interface: u32| match rings.iter().find(|ring| ring.index() == interface) {
                Some(ring) => ring.send(frame),
                None => Err(io::ErrorKind::NotFound.into()),
            };
            guard.run(now - HELD, now, &mut self.reports, &mut send);
            report.hear(guard.take_events())?;
            if time::Instant::now() >= next_statistics {
                next_statistics = time::Instant::now() + OFTEN;
                self.look_for_missed(guard)?;
                report.look(guard, self.hidden());
            }
        }
        guard.finish(&mut self.reports);
        report.hear(guard.take_events())?;
        Ok(!self.rings.is_empty())
    }

    /// Waits for packets, and closes interfaces that are gone.
    fn wait(&mut self, most: Duration) -> Result<(), Failure> {
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        let mut watched: Vec<_> = self.rings.iter().map(|ring| PollFd::new(ring, PollFlags::IN)).collect();
        match poll(&mut watched, Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(why) => return Err(Failure::Wrong(format!("cannot wait for packets: {why}"))),
        }
        let failed: Vec<bool> = watched.iter().map(|ring| ring.revents().contains(PollFlags::ERR)).collect();
        if !failed.contains(&true) {
            return Ok(());
        }
        let mut left = Vec::new();
        for (ring, has_failed) in self.rings.drain(..).zip(failed) {
            if has_failed && ring.wait(Duration::ZERO)? == Readiness::Gone {
                console::note(format_args!("{} is gone", ring.interface().unwrap_or_default()));
                self.reports.by_interface.remove(&ring.index());
            } else {
                left.push(ring);
            }
        }
        self.rings = left;
        Ok(())
    }

    /// Reads all packets that are there.
    fn read(&mut self, guard: &mut Guard) {
        let Self { rings, allow, own, reports, .. } = self;
        for ring in rings {
            loop {
                let taken = ring.drain(|frame| {
                    if let Some(packet) = read(&frame)
                        && allow.as_ref().is_none_or(|allow| is_allowed(allow, &packet.endpoints))
                        && own.has(if packet.outgoing { packet.endpoints.src } else { packet.endpoints.dst }.ip())
                    {
                        guard.on_packet(&packet, reports);
                    }
                });
                if taken == 0 {
                    break;
                }
            }
        }
    }

    fn look_for_missed(&mut self, guard: &mut Guard) -> Result<(), Failure> {
        let mut dropped = 0;
        for ring in &mut self.rings {
            dropped += ring.take_statistics()?.dropped;
        }
        if dropped > 0 {
            guard.on_missed();
        }
        Ok(())
    }
}

fn is_allowed(allow: &Filter, ends: &Endpoints) -> bool {
    allow.matches(ends) || allow.matches(&ends.reverse())
}

/// Reads a frame of an interface.
fn read<'a>(frame: &RingFrame<'a>) -> Option<Packet<'a>> {
    let ip = match frame.link {
        LinkLayer::Ethernet => ETHERNET,
        LinkLayer::Network(_) => 0,
    };
    let mut packet = Packet::read(frame.at, frame.outgoing?, frame.data, frame.on_wire, ip)?;
    packet.interface = frame.interface;
    if frame.vlan.is_some() {
        packet.odd = Some(Odd::Tagged);
    }
    Some(packet)
}
