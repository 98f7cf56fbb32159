//! What is run: flows, networks, mechanisms, and what they copy.

use recoup_lab::scenario::Scenario;
use recoup_lab::settings::{Settings, SettingsError};
use recoup_path::LossKind;
use recoup_recovery::Profile;
use std::path::Path;

/// The share of all packets that every network loses, each way.
pub const LOSS: f64 = 0.02;

/// The `slp.gap` setting if nothing else is said.
pub const GAP: &str = "0.125";

/// The gaps that are compared.
pub const GAPS: [&str; 6] = ["0", "0.0625", GAP, "0.25", "0.5", "1"];

/// The `request` setting.
pub const REQUEST: &str = "300B";

/// What a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A request of 300 bytes, a response of 34 kB, written at once: more than the first window.
    Fetch,
    /// The same request, a response of 8 segments: the first window has room for a copy of its tail.
    Short,
}

impl Load {
    /// In the order of reports.
    pub const ALL: [Self; 2] = [Self::Fetch, Self::Short];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fetch => "34 kB",
            Self::Short => "8 segments",
        }
    }

    const fn settings(self) -> [(&'static str, &'static str); 3] {
        match self {
            Self::Fetch => [
                ("request", REQUEST),
                ("segments", "1"),
                ("writes", "34kB@0"),
            ],
            Self::Short => [("request", REQUEST), ("segments", "8"), ("writes", "none")],
        }
    }
}

/// How packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Each by itself.
    Random,
    /// In bursts of 3 packets on average.
    Bursts3,
    /// In bursts of 8 packets on average.
    Bursts8,
}

impl Network {
    /// In the order of reports.
    pub const ALL: [Self; 3] = [Self::Random, Self::Bursts3, Self::Bursts8];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Bursts3 => "bursts of 3",
            Self::Bursts8 => "bursts of 8",
        }
    }

    /// The mean length of a burst, in packets.
    const fn burst(self) -> Option<f64> {
        match self {
            Self::Random => None,
            Self::Bursts3 => Some(3.0),
            Self::Bursts8 => Some(8.0),
        }
    }

    /// The value of the `drop` setting: Gilbert's channel leaves a burst with probability 1/length,
    /// and is in one for a share [`LOSS`] of the packets.
    pub fn drop(self) -> String {
        let rule = match self.burst() {
            None => format!("bernoulli:{LOSS}"),
            Some(length) => {
                let to_good = 1.0 / length;
                let to_bad = to_good * LOSS / (1.0 - LOSS);
                format!("gilbert-elliott:{to_bad},{to_good}")
            }
        };
        format!("up:{rule},down:{rule}")
    }

    /// The probability that a packet is lost, given that the packet `distance` before it was.
    pub fn lost_too(self, distance: u64) -> f64 {
        let Some(length) = self.burst() else {
            return LOSS;
        };
        // Of the two-state chain: what is left of the difference to the mean after a step.
        let memory = 1.0 - (1.0 / length) / (1.0 - LOSS);
        LOSS + (1.0 - LOSS) * memory.powf(distance as f64)
    }
}

/// The share of packets that each loss rule of these settings loses.
pub fn mean_losses(settings: &Settings) -> impl Iterator<Item = f64> {
    settings.drop.0.iter().map(|(_, spec)| match spec.kind {
        LossKind::Bernoulli(p) => p.get(),
        LossKind::GilbertElliott(channel) => {
            let bad = channel.share_bad();
            bad * channel.loss_bad.get() + (1.0 - bad) * channel.loss_good.get()
        }
        _ => 0.0,
    })
}

/// What else helps against timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing.
    Nothing,
    /// RTO restart.
    Rtor,
    /// Tail loss probe.
    Tlp,
    /// Tail loss probe with restart.
    Tlpr,
    /// All that Linux 6 has: RACK-TLP, RFC 9937.
    Linux6,
}

impl Recovery {
    /// In the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Nothing,
        Self::Rtor,
        Self::Tlp,
        Self::Tlpr,
        Self::Linux6,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Rtor => "RTOR",
            Self::Tlp => "TLP",
            Self::Tlpr => "TLPR",
            Self::Linux6 => "Linux 6",
        }
    }

    /// As a profile, by its name.
    const fn profile(self) -> &'static str {
        match self {
            Self::Nothing => "linux-3.17",
            Self::Rtor => "linux-3.17+rtor",
            Self::Tlp => "linux-3.17+tlp",
            Self::Tlpr => "linux-3.17+tlpr",
            Self::Linux6 => "linux-6",
        }
    }
}

/// What is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Nothing: no SLP.
    Nothing,
    /// SYN and SYN-ACK.
    Handshake,
    /// What the paper's q favours: SYN, SYN-ACK and short PSH segments.
    Paper,
    /// SYN, SYN-ACK, PSH and tails.
    Tails,
    /// The second data segment alone, to see what packets between original and copy do.
    Second,
}

impl Copied {
    /// With every mechanism.
    pub const ALWAYS: [Self; 3] = [Self::Nothing, Self::Paper, Self::Tails];

    /// With no other mechanism.
    pub const ALONE: [Self; 4] = [Self::Nothing, Self::Handshake, Self::Paper, Self::Tails];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Handshake => "handshake",
            Self::Paper => "paper's q",
            Self::Tails => "tails too",
            Self::Second => "second segment",
        }
    }

    /// The value of the `slp.q` setting.
    pub const fn likelihoods(self) -> &'static str {
        match self {
            Self::Nothing | Self::Paper => "paper",
            Self::Handshake => "syn:1,syn_ack:1",
            Self::Tails => "syn:1,syn_ack:1,psh:1,tail:1",
            Self::Second => "other:1",
        }
    }
}

/// What one cell is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// What the flows carry.
    pub load: Load,
    /// How packets are lost.
    pub network: Network,
    /// What else helps.
    pub recovery: Recovery,
    /// What is copied.
    pub copied: Copied,
    /// The `slp.gap` setting.
    pub gap: &'static str,
}

impl Setup {
    /// Every mechanism with and without copies: of each load on each network the first has neither.
    pub fn mechanisms() -> Vec<Self> {
        let mut setups = Vec::new();
        for (load, network) in everywhere() {
            for recovery in Recovery::ALL {
                let copied: &[Copied] = match recovery {
                    Recovery::Nothing => &Copied::ALONE,
                    _ => &Copied::ALWAYS,
                };
                setups.extend(copied.iter().map(|copied| Self {
                    load,
                    network,
                    recovery,
                    copied: *copied,
                    gap: GAP,
                }));
            }
        }
        setups
    }

    /// What the gap does for short flows: tails with gaps from none to an SRTT, and the second data
    /// segment, whose copy goes behind the rest of its window (those between are no tail, nor first).
    pub fn gaps() -> Vec<Self> {
        let others = GAPS.into_iter().filter(|gap| *gap != GAP);
        let tried = others.map(|gap| (Copied::Tails, gap));
        let tried = tried.chain([(Copied::Second, GAP)]);
        let tried = Network::ALL.map(|network| tried.clone().map(move |tried| (network, tried)));
        let setup = |(network, (copied, gap))| Self {
            load: Load::Short,
            network,
            recovery: Recovery::Nothing,
            copied,
            gap,
        };
        tried.into_iter().flatten().map(setup).collect()
    }

    /// The same with other copies, at the usual gap.
    pub fn with(self, recovery: Recovery, copied: Copied) -> Self {
        Self {
            recovery,
            copied,
            gap: GAP,
            ..self
        }
    }

    /// The profile, by its name.
    pub fn profile(&self) -> String {
        let slp = match self.copied {
            Copied::Nothing => "",
            _ => "+slp",
        };
        format!("{}{slp}", self.recovery.profile())
    }

    /// `base` as this has it, and the profile.
    pub fn settings(&self, base: &Scenario) -> Result<(Settings, Profile), SettingsError> {
        let mut settings = base.settings.clone();
        let drop = self.network.drop();
        let own = [
            ("drop", &*drop),
            ("slp.q", self.copied.likelihoods()),
            ("slp.gap", self.gap),
        ];
        for (key, value) in self.load.settings().into_iter().chain(own) {
            settings.set(key, value, Path::new(""))?;
        }
        let profile = self.profile().parse().expect("a profile that exists");
        Ok((settings, profile))
    }
}

/// Each load on each network.
pub fn everywhere() -> impl Iterator<Item = (Load, Network)> {
    Load::ALL
        .into_iter()
        .flat_map(|load| Network::ALL.map(|network| (load, network)))
}
