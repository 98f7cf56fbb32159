//! Saved analyses that are damaged.

use super::{
    paused::{bytes, unfinished},
    *,
};

/// Analyses in the middle of captures that leave much open.
fn analyses() -> Vec<Analyzer<Kept>> {
    let packets = unfinished();
    let cuts = [12, packets.len() - 5, packets.len() - 2];
    let analysis = |cut: usize| {
        let mut analyzer = Analyzer::new(&Settings::default(), Kept::default);
        analyzer.state.feed.round = 1;
        analyzer.follow(packets[..cut].iter().copied());
        analyzer
    };
    cuts.map(analysis).into()
}

#[test]
fn any_damage_is_refused_or_read() {
    let settings = Settings { threads: 0, ..Settings::default() };
    let mut refused = 0;
    for whole in analyses().iter().map(bytes) {
        for at in 0..whole.len() {
            let damaged = |change: fn(u8) -> u8| {
                let mut bytes = whole.clone();
                bytes[at] = change(bytes[at]);
                bytes
            };
            let mut long = whole.clone();
            long.splice(at..=at, [0xff; 9].into_iter().chain([1]));
            let all = [
                whole[..at].to_vec(),
                damaged(|byte| byte ^ 1),
                damaged(|byte| byte ^ 0x80),
                damaged(|_| 0),
                damaged(|_| 0x7f),
                long,
            ];
            for bytes in all {
                let Ok(saved) = postcard::from_bytes::<SavedAnalysis>(&bytes) else {
                    continue;
                };
                let resumed = Analyzer::resume(saved, &settings, Kept::default);
                refused += u64::from(resumed.is_err());
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn what_is_not_there_is_named() {
    type Damage = fn(&mut SavedAnalysis);
    let cases: [(Damage, &str); 3] = [
        (|saved| drop(saved.shards.shards.pop()), "shards are missing"),
        (|saved| saved.shards.shards.swap(0, 1), "a connection is in another shard"),
        (|saved| saved.feed.round = 0, "a round of packets is not divided among the shards"),
    ];
    for (damage, what) in cases {
        let mut found = Vec::new();
        for mut analysis in analyses() {
            damage(&mut analysis.state);
            let settings = Settings::default();
            found.extend(Analyzer::resume(analysis.state, &settings, Kept::default).err());
        }
        assert!(found.contains(&ResumeError::Damaged(what)), "{found:?}");
    }
}

#[test]
fn other_settings_are_named() {
    let settings = Settings { profile: Some("linux-6".parse().unwrap()), ..Settings::default() };
    let saved = analyses().remove(0).state;
    let error = Analyzer::resume(saved, &settings, Kept::default).unwrap_err();
    assert_eq!(error.to_string(), "the saved analysis was made with another profile");
}
