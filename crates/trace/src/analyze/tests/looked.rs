//! Open connections that are looked at, while packets come.

use super::{paused::Outcome, *};
use std::collections::HashMap;

/// Keeps what each look found.
#[derive(Debug, Default)]
struct Looked {
    kept: Kept,
    latest: HashMap<ConnectionKey, (Connection, Vec<Retransmission>)>,
    looks: usize,
}

impl Findings for Looked {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.kept.connection(connection, retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        self.kept.revision(revision);
    }

    fn so_far(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.looks += 1;
        self.latest.insert(connection.key(), (connection, retransmissions.to_vec()));
    }
}

impl From<Looked> for Kept {
    fn from(looked: Looked) -> Self {
        looked.kept
    }
}

/// Analyzes packets one by one, with a look at all connections after each.
fn looked(packets: &[CapturedPacket], settings: &Settings) -> Analyzer<Looked> {
    followed(packets, settings, |_| {})
}

/// As [`looked`], with something done after each packet.
fn followed(
    packets: &[CapturedPacket],
    settings: &Settings,
    mut after: impl FnMut(&mut Analyzer<Looked>),
) -> Analyzer<Looked> {
    let mut analyzer = Analyzer::new(settings, Looked::default);
    analyzer.begin_looks();
    let mut now = Instant::ZERO;
    for packet in packets {
        now = now.max(packet.at);
        analyzer.follow(std::iter::once(*packet));
        analyzer.end_round(now);
        analyzer.look(Look::Troubled);
        analyzer.look(Look::Since(Instant::ZERO));
        after(&mut analyzer);
    }
    analyzer
}

/// Packs all connections that may be packed.
fn pack(analyzer: &mut Analyzer<Looked>) {
    for shard in &mut analyzer.state.shards.shards {
        let slots: Vec<u32> = shard.drowsy().map(|cost| cost.slot).collect();
        slots.into_iter().for_each(|slot| shard.pack(slot));
    }
}

/// Checks that looks change nothing, and that the last one finds what the analysis does.
pub fn check(packets: &[CapturedPacket], settings: &Settings) {
    // A copy for each packet takes long, and the clock is corrected by what comes next.
    if packets.len() > 150 || settings.most_memory < Settings::default().most_memory {
        return;
    }
    let mut whole = Analyzer::new(settings, Kept::default);
    whole.state.feed.round = 1;
    whole.follow(packets.iter().copied());
    let whole = Outcome::of(whole);
    if whole.has_clock_anomalies() {
        return;
    }
    assert_eq!(Outcome::of(looked(packets, settings)), whole);
    let packed = followed(packets, settings, |analyzer| {
        pack(analyzer);
    });
    assert_eq!(Outcome::of(packed), whole);
    // What other connections show later changes what is known of one that is looked at no more.
    let [connection] = &whole.connections[..] else {
        return;
    };
    let mut analyzer = looked(packets, settings);
    // Packets that wait for earlier ones, or for copies from another capture point, wait no longer.
    let last = packets.iter().map(|packet| packet.at).max().unwrap_or_default();
    analyzer.end_round(last + Duration::from_secs(20));
    analyzer.look(Look::Since(Instant::ZERO));
    let mut latest = analyzer.findings.iter().filter_map(|shard| shard.latest.get(&connection.key()));
    if let Some((open, rows)) = latest.next()
        && open.closing == connection.closing
        && analyzer.counts().inseparable.is_none()
    {
        assert_eq!(*rows, whole.retransmissions);
        assert_eq!(open, connection);
    }
}

/// The trigger is known as the retransmission leaves, and the verdict when the ACK comes that decides it.
#[test]
fn a_look_finds_a_retransmission_before_its_connection_ends() {
    let mut packets = repaired().packets;
    for (packet, frame) in packets.iter_mut().zip(1..) {
        packet.frame = frame;
    }
    let seen_after = |count: usize| {
        let analyzer = looked(&packets[..count], &Settings::default());
        let mut all = analyzer.findings.iter().flat_map(|shard| shard.latest.values());
        let (_, rows) = all.next().expect("one connection");
        rows.iter().map(|row| (row.frame, row.triggers, row.verdict, row.evidence)).collect::<Vec<_>>()
    };
    assert_eq!(seen_after(18), []);
    let open = (19, Trigger::Fast.into(), Verdict::Unknowable, Evidence::NotAcknowledged);
    assert_eq!(seen_after(19), [open]);
    assert_eq!(seen_after(20), [(19, Trigger::Fast.into(), Verdict::Needed, Evidence::TimestampEcho)]);
}

/// A troubled connection is looked at if something came of it since the last look, and an active one if not too long ago.
#[test]
fn silent_connections_are_not_looked_at_again() {
    let mut packets = repaired().packets;
    for (packet, frame) in packets.iter_mut().zip(1..) {
        packet.frame = frame;
    }
    let mut analyzer = looked(&packets, &Settings::default());
    let looks = |analyzer: &Analyzer<Looked>| analyzer.findings.iter().map(|shard| shard.looks).sum::<usize>();
    let before = looks(&analyzer);
    assert!(before > packets.len(), "one after each packet, and another while something is recovered: {before}");
    let last = packets.last().expect("packets").at;
    analyzer.look(Look::Troubled);
    analyzer.look(Look::Since(last + Duration::from_nanos(1)));
    assert_eq!(looks(&analyzer), before);
    analyzer.look(Look::Since(last));
    assert_eq!(looks(&analyzer), before + 1);
}

#[test]
fn silent_connections_are_packed_before_any_is_closed() {
    let (clients, segments) = (3_000_u32, 3_i64);
    let settings = Settings { most_memory: 4 << 20, threads: 0, ..Settings::default() };
    let mut packets = Vec::new();
    for segment in 0..segments {
        let data = (0..clients).map(|client| {
            let at = 1000.0 + segment as f64 * 1e4 + f64::from(client);
            bounds::data_of(client, at, segment, 1)
        });
        packets.extend(data);
    }
    for (packet, frame) in packets.iter_mut().zip(1..) {
        packet.frame = frame;
    }
    let analyze = |begin: fn(&mut Analyzer<Looked>)| {
        let mut analyzer = Analyzer::new(&settings, Looked::default);
        begin(&mut analyzer);
        for some in packets.chunks(100) {
            analyzer.follow(some.iter().copied());
            analyzer.end_round(some[99].at);
            analyzer.look(Look::Troubled);
            assert!(analyzer.memory() <= settings.most_memory, "{}", analyzer.memory());
        }
        (analyzer.open(), Outcome::of(analyzer))
    };
    let (open, outcome) = analyze(Analyzer::begin_looks);
    assert_eq!(open, clients as usize);
    assert_eq!(outcome.connections.len(), clients as usize);
    assert!(outcome.connections.iter().all(|connection| connection.packets == segments as u64), "none began anew");
    let (open, _) = analyze(|_| {});
    assert!(open < clients as usize, "{open} without packing");
}
