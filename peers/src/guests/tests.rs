//! Every guest transfers data to another of its kind.

use super::{GuestName, udp::Socket};
use crate::bench::{Bench, BenchFlow};
use recoup_guest::{About, Counters, Ended, Failed, Guest, Input, Setup, Status};
use recoup_path::{HopSpec, PathSpec};
use recoup_tcp::flow::{Script, When, Workload, Write};
use recoup_units::{FlowId, Instant};
use recoup_wire::Ecn;
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    time::Duration,
};

/// The bytes of a transfer.
const BYTES: u64 = 100_000;

/// What a host did.
#[derive(Debug, Default)]
struct Record {
    /// When it sent packets, and the packets.
    sent: Vec<(Instant, Vec<u8>)>,
    read: u64,
    finished: bool,
    ended: Option<Ended>,
    counters: Counters,
}

/// A guest of which some packets get lost, and that is watched.
struct Watched {
    guest: Box<dyn Guest>,
    /// The packets that get lost, counted from 0.
    lost: &'static [usize],
    record: Rc<RefCell<Record>>,
}

impl Guest for Watched {
    fn about(&self) -> &About {
        self.guest.about()
    }

    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        let mut all = vec![];
        let status = self.guest.step(now, input, &mut all)?;
        let mut record = self.record.borrow_mut();
        assert!(status.wake.is_none_or(|at| at > now), "{}: a timer at {:?} at {now}", self.about().name, status.wake);
        for packet in all {
            assert!(packet.len() <= 1500);
            if !self.lost.contains(&record.sent.len()) {
                packets.push(packet.clone());
            }
            record.sent.push((now, packet));
        }
        record.read += if matches!(input, Input::Read(_)) { status.taken } else { 0 };
        (record.finished, record.ended) = (status.finished, status.ended);
        record.counters = self.guest.counters();
        Ok(status)
    }
}

fn setup(host: usize) -> Setup {
    let addresses = ["10.0.0.1:40000", "10.0.0.2:443"].map(|address| address.parse().unwrap());
    Setup { seed: 3, mtu: 1500, local: addresses[host], peer: addresses[1 - host], options: BTreeMap::new() }
}

/// The client and the server write as many bytes as said, and close. The round-trip time is 20 ms. The client's record, and
/// the server's.
fn transfer(name: GuestName, bytes: [u64; 2], lost: [&'static [usize]; 2]) -> [Record; 2] {
    transfer_with(name, [setup(0), setup(1)], bytes, lost)
}

fn transfer_with(name: GuestName, setups: [Setup; 2], bytes: [u64; 2], lost: [&'static [usize]; 2]) -> [Record; 2] {
    let records = [(); 2].map(|()| Rc::new(RefCell::new(Record::default())));
    let guests = [0, 1].map(|host| -> Box<dyn Guest> {
        let guest = name.make(&setups[host]).unwrap();
        Box::new(Watched { guest, lost: lost[host], record: Rc::clone(&records[host]) })
    });
    let [client, server] = bytes.map(|bytes| {
        let writes: &[_] = if bytes > 0 { &[Write { when: When::default(), bytes }] } else { &[] };
        Script { close: Some(When::default()), ..Script::of(writes) }
    });
    let delay = || vec![HopSpec::Delay(Duration::from_millis(10))];
    let path = PathSpec { up: delay(), down: delay() };
    let flow = BenchFlow { id: FlowId(0), start: Instant::ZERO, guests, workload: Workload { client, server } };
    let mut bench = Bench::new(&path, 1, vec![flow]).unwrap();
    let completions = bench.run(Duration::from_secs(300)).unwrap();
    assert!(completions[0].complete.is_some(), "{name:?}: {completions:?}");
    drop(bench);
    records.map(|record| Rc::into_inner(record).unwrap().into_inner())
}

/// `ended`: what the connection shows at last, five seconds after the transfer.
fn check(name: GuestName, lost: [&'static [usize]; 2], ended: Option<Ended>) {
    for bytes in [[BYTES, 0], [0, BYTES], [BYTES, BYTES]] {
        for lost in [[&[][..]; 2], lost] {
            let [client, server] = transfer(name, bytes, lost);
            let context = format!("{name:?}, {bytes:?}, {lost:?}");
            assert_eq!([server.read, client.read], bytes, "{context}");
            assert!(client.finished && server.finished, "{context}");
            assert_eq!([client.ended, server.ended], [ended; 2], "{context}");
            let again = transfer(name, bytes, lost);
            assert_eq!([client, server].map(repeated), again.map(repeated), "{context}: not repeated");
        }
    }
}

/// What must be the same when a transfer is repeated: the times of the packets, their lengths, and of TCP the packets.
fn repeated(record: Record) -> Vec<(Instant, usize, Vec<u8>)> {
    let is_tcp = |packet: &[u8]| packet[9] == 6;
    let sent = record.sent.into_iter();
    sent.map(|(at, packet)| (at, packet.len(), if is_tcp(&packet) { packet } else { vec![] })).collect()
}

#[test]
fn smoltcp_transfers_and_repeats() {
    for name in [GuestName::Smoltcp, GuestName::SmoltcpReno, GuestName::SmoltcpCubic] {
        // Both are in TIME-WAIT. Nothing is lost: after a timeout smoltcp does not always retransmit its FIN.
        check(name, [&[], &[]], None);
    }
}

#[test]
fn quinn_transfers_and_repeats() {
    for name in [GuestName::Quinn, GuestName::QuinnReno, GuestName::QuinnBbr] {
        check(name, [&[0, 5, 20, 21, 22, 40], &[1, 5, 20, 21, 22, 40]], Some(Ended::Closed));
    }
}

#[test]
fn sctp_transfers_and_repeats() {
    check(GuestName::Sctp, [&[0, 5, 20, 21, 22, 40], &[0, 5, 20, 21, 22, 40]], Some(Ended::Closed));
}

#[test]
fn gvisor_transfers_and_repeats() {
    if let Err(failed) = GuestName::Gvisor.make(&setup(0)) {
        return recoup_testing::skip(failed);
    }
    for name in [GuestName::Gvisor, GuestName::GvisorCubic] {
        // Both are in TIME-WAIT.
        // Where retransmissions get lost, too, netstack may wait for minutes: its timeouts are doubled.
        check(name, [&[0, 12], &[0, 12]], None);
    }
}

#[test]
fn quinn_counts_the_packets_that_are_lost() {
    let counted = |lost| {
        let [client, _] = transfer(GuestName::Quinn, [BYTES, 0], [lost, &[]]);
        (client.counters.lost, client.counters.congestion_events)
    };
    assert_eq!(counted(&[]), (Some(0), Some(0)));
    // Packets in the middle of the data, so that others are acknowledged after them.
    assert_eq!(counted(&[30]), (Some(1), Some(1)));
    assert_eq!(counted(&[30, 31]), (Some(2), Some(1)));
}

#[test]
fn quinn_without_mtu_discovery_sends_no_probes() {
    let longest = |discovery: Option<&str>| {
        let mut setups = [setup(0), setup(1)];
        for setup in &mut setups {
            setup.options.extend(discovery.map(|value| ("mtu-discovery".into(), value.into())));
        }
        let [_, server] = transfer_with(GuestName::Quinn, setups, [BYTES, 0], [&[]; 2]);
        server.sent.iter().skip(3).map(|(_, packet)| packet.len()).max().unwrap()
    };
    // The server sends acknowledgments alone, after its handshake.
    assert!(longest(None) > 1400 && longest(Some("true")) > 1400);
    assert!(longest(Some("false")) < 200, "{}", longest(Some("false")));
}

#[test]
fn qlog_has_the_packets_in_virtual_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client.sqlog");
    let mut setups = [setup(0), setup(1)];
    setups[0].options.insert("qlog".into(), path.display().to_string());
    let [client, _] = transfer_with(GuestName::Quinn, setups.clone(), [BYTES, 0], [&[30, 31], &[]]);
    // JSON text sequences: a header, then an event each (RFC 7464).
    let text = std::fs::read_to_string(&path).unwrap();
    let events: Vec<&str> = text.split('\u{1e}').skip(2).collect();
    let count = |name: &str| events.iter().filter(|event| event.contains(name)).count();
    assert_eq!(count("recovery:packet_lost"), 2);
    let end = client.sent.last().unwrap().0.as_nanos() as f64 / 1e6;
    let time = |event: &&str| event.split("\"time\":").nth(1)?.split(',').next()?.parse::<f64>().ok();
    let times: Vec<f64> = events.iter().filter_map(time).collect();
    assert_eq!(times.len(), events.len(), "{text}");
    assert!(times.is_sorted() && times[0] == 0.0 && times.iter().all(|time| *time <= end + 10.0), "{times:?}");

    setups[0].options.insert("qlog".into(), folder.path().display().to_string());
    let failed = GuestName::Quinn.make(&setups[0]).err().unwrap().0;
    assert!(failed.starts_with("option qlog: create `") && failed.contains("directory"), "{failed}");
}

/// Both hosts after `input` at one of them, when all packets that follow from it at once have arrived.
fn exchange(guests: &mut [Box<dyn Guest>; 2], now: &mut Instant, host: usize, input: Input<'_>) -> [Status; 2] {
    let mut statuses = [Status::default(); 2];
    let mut flying = VecDeque::new();
    let mut step = |now: Instant, host: usize, input: Input<'_>, flying: &mut VecDeque<_>| {
        let mut packets = vec![];
        statuses[host] = guests[host].step(now, input, &mut packets).unwrap();
        flying.extend(packets.into_iter().map(|packet| (1 - host, packet)));
    };
    step(*now, host, input, &mut flying);
    while let Some((host, packet)) = flying.pop_front() {
        *now += Duration::from_millis(1);
        step(*now, host, Input::Packet(&packet), &mut flying);
    }
    // Early: it shows the status, and does nothing.
    [0, 1].map(|host| guests[host].step(*now, Input::Wake, &mut vec![]).unwrap())
}

#[test]
fn reset_reaches_the_peer() {
    for name in [GuestName::Smoltcp, GuestName::Quinn, GuestName::Gvisor] {
        let Ok(guests) = [0, 1].map(|host| name.make(&setup(host))).into_iter().collect::<Result<Vec<_>, _>>() else {
            return recoup_testing::skip("Go is not installed");
        };
        let mut guests: [_; 2] = guests.try_into().ok().unwrap();
        let mut now = Instant::ZERO;
        exchange(&mut guests, &mut now, 1, Input::Listen);
        let open = exchange(&mut guests, &mut now, 0, Input::Connect);
        assert!(open.iter().all(|status| status.open && status.writable > 0 && status.ended.is_none()), "{open:?}");
        let after = exchange(&mut guests, &mut now, 1, Input::Reset);
        // QUIC keeps the connection for three PTOs (RFC 9000 §10.2).
        let later = now + Duration::from_secs(60);
        let ended = [0, 1].map(|host| guests[host].step(later, Input::Wake, &mut vec![]).unwrap().ended);
        assert_eq!(ended, [Some(Ended::Reset); 2], "{name:?}: {after:?}");
    }
}

#[test]
fn garbage_changes_nothing() {
    for name in [GuestName::Smoltcp, GuestName::Quinn, GuestName::Sctp] {
        let mut guests = [0, 1].map(|host| name.make(&setup(host)).unwrap());
        let mut now = Instant::ZERO;
        exchange(&mut guests, &mut now, 1, Input::Listen);
        let mut random = 1_u64;
        for round in 0..2 {
            for len in 0..2000_usize {
                let mut byte = || {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (random >> 56) as u8
                };
                let payload: Vec<u8> = (0..len % 200).map(|_| byte()).collect();
                let mut socket = Socket::new(setup(0).local);
                let packet = socket.packet(setup(1).local, Ecn::NONE, &payload).unwrap();
                exchange(&mut guests, &mut now, 1, Input::Packet(&packet));
                exchange(&mut guests, &mut now, 1, Input::Packet(&payload));
            }
            if round == 0 {
                exchange(&mut guests, &mut now, 0, Input::Connect);
            }
        }
        let after = exchange(&mut guests, &mut now, 0, Input::Write(10));
        assert!(after.iter().all(|status| status.open && status.ended.is_none()), "{name:?}: {after:?}");
        assert_eq!(after[1].readable, 10, "{name:?}");
    }
}

#[test]
fn unknown_options_are_named() {
    let failed = |name: GuestName, option: &str, value: &str| {
        let options = BTreeMap::from([(option.into(), value.into())]);
        name.make(&Setup { options, ..setup(0) }).err().map(|failed| failed.0)
    };
    let unknown = "unknown option `qlgo`";
    assert_eq!(failed(GuestName::Quinn, "qlgo", "x"), Some(format!("{unknown}; did you mean `qlog`?")));
    assert_eq!(failed(GuestName::Smoltcp, "qlgo", "x"), Some(format!("{unknown}; known are no-delay")));
    assert_eq!(failed(GuestName::Sctp, "qlgo", "x"), Some(format!("{unknown}: this stack has none")));
    let wrong = failed(GuestName::Quinn, "mtu-discovery", "no");
    assert_eq!(wrong, Some("option `mtu-discovery`: expected true or false, found `no`".into()));
}

#[test]
fn mtu_too_small_for_quic_is_refused() {
    let failed = |mtu| GuestName::Quinn.make(&Setup { mtu, ..setup(0) }).err().map(|failed| failed.0);
    assert_eq!(failed(1228), None);
    assert_eq!(failed(1227), Some("an MTU of 1227 bytes: expected 1228 or more for QUIC".into()));
}
