//! Analyses of a part of a capture: some connections, or some of the time.

use super::*;
use crate::read::LeftOut;
use std::{collections::BTreeSet, fmt, net::SocketAddr};

/// Selects the connections of one end.
#[derive(Debug)]
struct Of(SocketAddr);

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ConnectionFilter for Of {
    fn selects(&self, ends: &Endpoints) -> bool {
        ends.src == self.0 || ends.dst == self.0
    }
}

fn only(end: SocketAddr, settings: &Settings) -> Settings {
    Settings { filter: Some(Arc::new(Of(end))), ..settings.clone() }
}

fn within(from: Option<TimeMark>, to: Option<TimeMark>, settings: &Settings) -> Settings {
    Settings { window: TimeWindow { from, to }, ..settings.clone() }
}

fn found(packets: &[CapturedPacket], settings: &Settings) -> (Kept, LeftOut) {
    let (analysis, _) = finished(packets, settings, Kept::default);
    (merged_parts(analysis.findings), analysis.counts.left_out)
}

/// Checks that a part of a capture has the numbers that it has in the whole. At a bound they may differ:
/// connections that are left out take up less.
pub fn check(packets: &[CapturedPacket], settings: &Settings) {
    let usual = Settings::default();
    let bounded = settings.most_memory < usual.most_memory || settings.most_connections < usual.most_connections;
    if bounded || packets.len() > 5000 {
        return;
    }
    let (whole, _) = found(packets, settings);
    check_filters(packets, settings, &whole);
    check_windows(packets, settings, &whole);
}

/// The values that identify a connection of an analysis.
fn places(kept: &Kept) -> Vec<(u64, Endpoints, std::ops::RangeInclusive<u64>)> {
    let connections = kept.connections.iter();
    let places = connections.map(|c| (c.id, c.endpoints, c.frames.clone()));
    places.collect()
}

fn check_filters(packets: &[CapturedPacket], settings: &Settings, whole: &Kept) {
    let nobody = "203.0.113.99:9".parse().unwrap();
    let ends: BTreeSet<SocketAddr> = packets.iter().map(|p| p.endpoints.src).collect();
    for end in ends.into_iter().take(1).chain([nobody]) {
        let filter = Of(end);
        let (kept, left_out) = found(packets, &only(end, settings));
        let mut expected = places(whole);
        expected.retain(|(_, ends, _)| filter.selects(ends));
        assert_eq!(places(&kept), expected, "only {end}");
        let others = whole.connections.len() - kept.connections.len();
        assert_eq!(left_out.connections, others as u64, "only {end}");
        let segments = packets.iter().filter(|packet| packet.message.is_none());
        let theirs = segments.filter(|packet| !filter.selects(&packet.endpoints));
        assert!(left_out.packets <= theirs.count() as u64, "only {end}");
    }
}

fn check_windows(packets: &[CapturedPacket], settings: &Settings, whole: &Kept) {
    let Some(first) = packets.first() else {
        return;
    };
    let start = Some(TimeMark::AfterStart(Duration::ZERO));
    let (all, left_out) = found(packets, &within(start, None, settings));
    if left_out.outside_window == 0 {
        assert_eq!(all.connections, whole.connections);
        assert_eq!(all.retransmissions, whole.retransmissions);
    }
    let is_sorted = packets.is_sorted_by_key(|packet| packet.at);
    // One window for each capture: more would take too long.
    let middle = &packets[packets.len() * (1 + packets.len() % 3) / 4];
    let at = Some(TimeMark::At(middle.at));
    let (late, _) = found(packets, &within(at, None, settings));
    let (early, _) = found(packets, &within(None, at, settings));
    if !is_sorted || first.at.as_nanos() > 1 << 63 {
        return;
    }
    let first_inside = packets.partition_point(|packet| packet.at < middle.at);
    let frame = packets[first_inside].frame;
    for (id, ends, frames) in places(&late) {
        let before = places(whole).into_iter().find(|place| place.0 == id);
        let (_, ends_before, frames_before) = before.expect("a connection of the whole");
        assert_eq!((ends, frames.end()), (ends_before, frames_before.end()));
        assert!(frames.start() >= frames_before.start() && *frames.start() >= frame);
    }
    let segments = late.connections.iter().map(|c| c.packets).sum::<u64>();
    assert!(segments <= (packets.len() - first_inside) as u64);
    for row in &late.retransmissions {
        assert!(row.frame >= frame);
    }
    for (_, _, frames) in places(&early) {
        assert!(*frames.end() < frame);
    }
    for row in &early.retransmissions {
        assert!(row.frame < frame);
    }
}

/// Three connections, one after the other, with a loss each.
fn three() -> Vec<CapturedPacket> {
    let mut packets = Vec::new();
    for i in 0..3_u16 {
        let repaired = repaired().packets.into_iter();
        packets.extend(repaired.map(|packet| {
            let moved = |end: SocketAddr| match end.port() {
                80 => end,
                port => SocketAddr::new(end.ip(), port + i),
            };
            CapturedPacket {
                at: packet.at + Duration::from_secs(i.into()),
                endpoints: Endpoints { src: moved(packet.endpoints.src), dst: moved(packet.endpoints.dst) },
                ..packet
            }
        }));
    }
    for (packet, frame) in packets.iter_mut().zip(1..) {
        packet.frame = frame;
    }
    packets
}

#[test]
fn connections_that_are_left_out_are_numbered_and_counted() {
    let packets = three();
    let (whole, left_out) = found(&packets, &Settings::default());
    assert_eq!(left_out, LeftOut::default());
    let (kept, left_out) = found(&packets, &only("192.0.2.1:40001".parse().unwrap(), &Settings::default()));
    assert_eq!(kept.connections, whole.connections[1..2]);
    assert_eq!(kept.retransmissions, whole.retransmissions[1..2]);
    let others = 2 * packets.len() as u64 / 3;
    assert_eq!((left_out.connections, left_out.packets), (2, others));
}

#[test]
fn what_is_outside_the_window_is_not_counted() {
    let packets = three();
    let ms = |ms| Some(TimeMark::AfterStart(Duration::from_millis(ms)));
    let usual = Settings::default();
    // (the window, connections, packets outside it)
    let per_connection = packets.len() as u64 / 3;
    for (from, to, ids, outside) in [
        (None, None, vec![0, 1, 2], 0),
        (ms(1000), None, vec![1, 2], per_connection),
        (ms(1000), ms(2000), vec![1], 2 * per_connection),
        (None, ms(1000), vec![0], 2 * per_connection),
        (ms(9000), None, vec![], 3 * per_connection),
    ] {
        let (kept, left_out) = found(&packets, &within(from, to, &usual));
        let found: Vec<u64> = kept.connections.iter().map(|c| c.id).collect();
        assert_eq!(found, ids, "{from:?} {to:?}");
        assert_eq!(left_out.outside_window, outside, "{from:?} {to:?}");
    }
}

#[test]
fn a_connection_open_at_the_beginning_of_the_window_is_known_from_before() {
    let packets = three();
    // The loss, but not its repair, is before the window.
    let from = Some(TimeMark::AfterStart(Duration::from_millis(159)));
    let to = Some(TimeMark::AfterStart(Duration::from_millis(1000)));
    let (kept, _) = found(&packets, &within(from, to, &Settings::default()));
    let [row] = kept.retransmissions[..] else {
        panic!("{:?}", kept.retransmissions);
    };
    assert_eq!((row.frame, row.copy), (19, 1));
    assert!(row.detection.is_some());
    let [connection] = &kept.connections[..] else {
        panic!("{:?}", kept.connections);
    };
    assert_eq!(connection.opening, Opening::MidConnection);
    assert_eq!(connection.handshake_rtt, None);
    assert_eq!((connection.frames.clone(), connection.packets), (18..=20, 3));
    let server = &connection.directions[1];
    assert_eq!((server.segments, server.bytes, server.missing), (1, 1000, 0));
}

#[test]
fn an_analysis_goes_on_with_the_same_filter_and_window_only() {
    let [end, other] = ["192.0.2.1:40000", "192.0.2.1:40001"].map(|end| end.parse().unwrap());
    let usual = Settings::default();
    let from = Some(TimeMark::AfterStart(Duration::from_secs(1)));
    let filtered = only(end, &usual);
    let all = [
        ("filter", &filtered, &usual),
        ("filter", &filtered, &only(other, &usual)),
        ("time window", &usual, &within(from, None, &usual)),
    ];
    for (difference, before, after) in all {
        let saved = postcard::to_allocvec(Analyzer::new(before, Kept::default).save()).unwrap();
        let saved: SavedAnalysis = postcard::from_bytes(&saved).unwrap();
        let error = Analyzer::resume(saved, after, Kept::default).unwrap_err();
        assert_eq!(error, ResumeError::Settings(difference));
    }
    let packets = three();
    paused::check(&packets, &filtered);
    paused::check(&packets, &within(from, None, &usual));
    paused::check(&packets, &within(None, from, &filtered));
}
