//! The simulated networks.

use recoup_lab::settings::Settings;
use std::path::Path;

/// A network and its flows.
pub struct Network {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
    pub timestamps: bool,
    pub sack: bool,
    pub flows: u64,
}

impl Network {
    const fn new(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Self {
        Self { name, settings, timestamps: true, sack: true, flows: 12 }
    }

    const fn without_timestamps(self) -> Self {
        Self { timestamps: false, ..self }
    }

    const fn without_sack(self) -> Self {
        Self { sack: false, ..self }
    }

    pub fn settings(&self, folder: &Path) -> Settings {
        let mut settings = Settings::default();
        for (key, value) in self.settings {
            let set = settings.set(key, value, folder);
            set.unwrap_or_else(|e| panic!("{}: {e}", self.name));
        }
        settings
    }
}

/// A link of 12 Mbit/s that pauses for 700 ms of every three seconds, which delays packets and causes
/// spurious timeouts.
pub const STALLS: &str = "stalls.link";

pub fn stalls() -> String {
    (1..=2300).map(|ms| format!("{ms}\n")).chain(["3000\n".into()]).collect()
}

const LOSSES: &str = "down:bernoulli:0.03,up:bernoulli:0.03";
const WRITES: &str = "3kB@0,40kB@300ms,1kB@900ms,1kB@910ms,200kB@2s";

pub const NETWORKS: &[Network] = &[
    Network::new("no losses", &[("segments", "100"), ("close", "true")]),
    Network::new("losses", &[("segments", "150"), ("drop", LOSSES), ("close", "true")]),
    Network::new(
        "losses, wheel",
        &[("segments", "150"), ("drop", LOSSES), ("timers", "linux-wheel:250"), ("close", "true")],
    ),
    Network::new(
        "losses on a link with a queue",
        &[("segments", "300"), ("rate", "down:10Mbit,up:none"), ("queue", "30"), ("drop", "down:bernoulli:0.01")],
    ),
    Network::new(
        "heavy losses",
        &[("segments", "80"), ("drop", "down:bernoulli:0.15,up:bernoulli:0.1"), ("close", "true")],
    ),
    Network::new("bursts", &[("segments", "200"), ("drop", "down:gilbert-elliott:0.01,0.25")]),
    Network::new("lost tails", &[("drop", "tail:2,tail:1@2"), ("close", "true")]),
    Network::new(
        "short flows",
        &[("segments", "3"), ("drop", "down:bernoulli:0.2,up:bernoulli:0.1"), ("close", "true")],
    ),
    Network::new(
        "lost SYNs",
        &[("drop", "up:syn:1,up:syn:2,down:syn:1,down:bernoulli:0.05,up:bernoulli:0.05"), ("close", "true")],
    ),
    Network::new("reordering", &[("segments", "200"), ("reorder", "0.03:30ms"), ("drop", "down:bernoulli:0.005")]),
    Network::new("duplicates", &[("segments", "100"), ("duplicate", "0.05"), ("drop", LOSSES)]),
    Network::new("lost ACKs", &[("segments", "150"), ("drop", "down:bernoulli:0.02,up:bernoulli:0.4")]),
    Network::new("delayed ACKs", &[("segments", "100"), ("drop", LOSSES), ("ack", "delayed:200ms"), ("close", "true")]),
    Network::new(
        "stalls",
        &[("segments", "1500"), ("link", STALLS), ("drop", "down:bernoulli:0.003"), ("close", "true")],
    ),
    Network::new("stalls, wheel", &[("segments", "1000"), ("link", STALLS), ("timers", "linux-wheel:250")]),
    Network::new("pauses", &[("writes", WRITES), ("drop", LOSSES), ("rtt", "40ms"), ("close", "true")]),
    Network::new("long requests", &[("segments", "20"), ("request", "150kB"), ("drop", LOSSES), ("rtt", "200ms")]),
    Network::new("no timestamps", &[("segments", "150"), ("drop", LOSSES), ("reorder", "0.01:30ms")])
        .without_timestamps(),
    Network::new("no SACK", &[("segments", "150"), ("drop", LOSSES), ("reorder", "0.01:30ms")]).without_sack(),
    Network::new("neither", &[("segments", "150"), ("drop", LOSSES), ("close", "true")])
        .without_sack()
        .without_timestamps(),
];
