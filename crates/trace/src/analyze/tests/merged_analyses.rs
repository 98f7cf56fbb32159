//! Saved analyses of other connections are merged.

use super::{
    hosts::{Log, Visits},
    paused::{Outcome, resumed},
    *,
};
use std::net::IpAddr;

/// An analysis of these packets, whose frames begin after `before`.
fn analysis<F: Findings + Default>(packets: &[CapturedPacket], before: u64, settings: &Settings) -> Analyzer<F> {
    let mut analyzer = Analyzer::new(settings, F::default);
    analyzer.state.feed.round = 1;
    follow_on(&mut analyzer, packets, before);
    analyzer
}

fn follow_on<F: Findings>(analyzer: &mut Analyzer<F>, packets: &[CapturedPacket], before: u64) {
    let numbered = packets.iter().zip(before + 1..);
    analyzer.follow(numbered.map(|(packet, frame)| CapturedPacket { frame, ..*packet }));
    let mut counts = Counts::default();
    counts.frames = packets.len() as u64;
    analyzer.state.counts.append(counts);
}

/// The conversation between other hosts, `ms` later.
fn elsewhere(conversation: &Conversation, ms: u64) -> Vec<CapturedPacket> {
    let other = |end: std::net::SocketAddr| match end.ip() {
        IpAddr::V4(ip) => (std::net::Ipv4Addr::from(ip.to_bits() + 100), end.port()).into(),
        IpAddr::V6(_) => end,
    };
    let packets = conversation.packets.iter();
    let moved = packets.map(|packet| CapturedPacket {
        at: packet.at + Duration::from_millis(ms),
        endpoints: Endpoints { src: other(packet.endpoints.src), dst: other(packet.endpoints.dst) },
        ..*packet
    });
    moved.collect()
}

#[test]
fn merged_analyses_go_on_as_if_one_had_read_everything() {
    let settings = Settings::default();
    let here = repaired().packets;
    let there = elsewhere(&repaired(), 300);
    for cut in 1..here.len() {
        let (one, other) = (here.split_at(cut), there.split_at(cut));
        let cut = cut as u64;
        let mut whole: Analyzer<Kept> = analysis(one.0, 0, &settings);
        follow_on(&mut whole, other.0, cut);
        let mut merged: Analyzer<Kept> = analysis(one.0, 0, &settings);
        let second: Analyzer<Kept> = analysis(other.0, 0, &settings);
        merged.state.merge(second.state).unwrap();
        merged = resumed(merged, &settings);
        for analyzer in [&mut whole, &mut merged] {
            follow_on(analyzer, one.1, 2 * cut);
            follow_on(analyzer, other.1, cut + here.len() as u64);
        }
        let (whole, merged) = (Outcome::of(whole), Outcome::of(merged));
        assert_eq!(merged, whole, "cut after {cut}");
        assert_eq!(merged.connections.len(), 2);
        assert_eq!(merged.retransmissions.len(), 2);
    }
}

#[test]
fn an_analysis_learns_what_the_other_knows_of_hosts() {
    let settings = Settings::default();
    let mut doubtful = Visits::new(true);
    (0..2).for_each(|_| doubtful.doubtful());
    let mut spurious = Visits::new(true);
    // From other ports.
    spurious.begun = 2;
    (0..4).for_each(|_| spurious.spurious(false));
    let logs = [doubtful, spurious].map(|visits| {
        let analyzer: Analyzer<Log> = analysis(&visits.conversation.packets, 0, &settings);
        analyzer
    });
    for swap in [false, true] {
        let [mut one, mut other] = logs_again(&logs);
        if swap {
            (one, other) = (other, one);
        }
        one.merge(other).unwrap();
        let resumed = Analyzer::resume(one, &settings, Log::default).unwrap();
        let (analysis, _) = resumed.finish_all();
        let given: Vec<String> = analysis.findings.into_iter().flat_map(|l| l.given).collect();
        let number = if swap { 4 } else { 0 };
        let revised = format!("{number} revised: No unknowable no_reports");
        assert!(given.contains(&revised), "{given:?}");
        let later = format!("{} unknowable no_reports", number + 1);
        assert!(given.contains(&later), "{given:?}");
    }
}

/// Copies of the states of two analyses.
fn logs_again(logs: &[Analyzer<Log>; 2]) -> [SavedAnalysis; 2] {
    logs.each_ref().map(|log| {
        let bytes = postcard::to_allocvec(log.save()).unwrap();
        postcard::from_bytes(&bytes).unwrap()
    })
}

#[test]
fn analyses_that_do_not_fit_together_are_refused() {
    let settings = Settings::default();
    let packets = repaired().packets;
    let states = || -> [SavedAnalysis; 2] { [0, 1].map(|_| analysis::<Kept>(&packets[..9], 0, &settings).state) };
    let [mut one, other] = states();
    let error = one.merge(other).unwrap_err();
    let expected = "both saved analyses hold the connection between 192.0.2.1:40000 and 198.51.100.2:80";
    assert_eq!(error.to_string(), expected);
    // A packet of it waits for its round.
    let [mut one, other] = [0, 1].map(|_| {
        let mut analyzer = Analyzer::new(&settings, Kept::default);
        analyzer.follow(packets[..1].iter().copied());
        analyzer.state
    });
    assert_eq!(one.merge(other).unwrap_err(), error);
    let idle = Settings { idle: Duration::from_secs(1), ..Settings::default() };
    let other = analysis::<Kept>(&packets, 0, &idle).state;
    let error = one.merge(other).unwrap_err();
    assert_eq!(error.to_string(), "the saved analyses were made with another idle time");
}
