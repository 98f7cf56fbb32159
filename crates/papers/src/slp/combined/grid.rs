//! The grid of cells: loads, networks, mechanisms and copies.

use crate::experiment;
use crate::prelude::*;
use recoup_path::LossKind;

/// The share of packets that every network loses, in each direction.
pub const LOSS: f64 = 0.02;

/// The default `slp.gap` setting.
pub const GAP: &str = "0.125";

/// The `slp.gap` settings that are compared.
pub const GAPS: [&str; 6] = ["0", "0.0625", GAP, "0.25", "0.5", "1"];

/// The `request` setting.
pub const REQUEST: &str = "300B";

choices! {
    /// The data of a flow.
    pub enum Load {
        /// A request of 300 bytes, and a response of 34 kB written at once: more than the first window.
        Fetch = "34 kB",
        /// A request of 300 bytes, and a response of 8 segments: the first window has room for a copy of its tail.
        Short = "8 segments",
    }
}

impl Load {
    fn settings(self) -> String {
        match self {
            Self::Fetch => format!("request={REQUEST} segments=1 writes=34kB@0"),
            Self::Short => format!("request={REQUEST} segments=8 writes=none"),
        }
    }
}

choices! {
    /// How packets are lost.
    pub enum Network {
        /// Independently of each other.
        Random = "random",
        /// In bursts of 3 packets on average.
        Bursts3 = "bursts of 3",
        /// In bursts of 8 packets on average.
        Bursts8 = "bursts of 8",
    }
}

impl Network {
    /// The mean length of a burst, in packets.
    const fn burst(self) -> Option<f64> {
        match self {
            Self::Random => None,
            Self::Bursts3 => Some(3.0),
            Self::Bursts8 => Some(8.0),
        }
    }

    /// The value of the `drop` setting. Gilbert's channel leaves a burst with probability 1/length and
    /// spends a share [`LOSS`] of the packets in bursts.
    pub fn drop(self) -> String {
        self.drop_at(LOSS)
    }

    /// [`drop`](Self::drop) with another rate of random losses.
    fn drop_at(self, random: f64) -> String {
        let rule = match self.burst() {
            None => format!("bernoulli:{random}"),
            Some(length) => {
                let to_good = 1.0 / length;
                let to_bad = to_good * LOSS / (1.0 - LOSS);
                format!("gilbert-elliott:{to_bad},{to_good}")
            }
        };
        format!("up:{rule},down:{rule}")
    }

    /// The probability that a packet is lost if the packet `distance` packets before it was lost.
    pub fn lost_too(self, distance: u64) -> f64 {
        let Some(length) = self.burst() else {
            return LOSS;
        };
        // The two-state chain keeps this share of the difference from its mean at each step.
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

choices! {
    /// The mechanism against timeouts besides SLP.
    pub enum Recovery {
        /// None.
        Nothing = "nothing",
        /// RTO restart.
        Rtor = "RTOR",
        /// Tail loss probe.
        Tlp = "TLP",
        /// Tail loss probe with restart.
        Tlpr = "TLPR",
        /// Linux 6, with RACK-TLP.
        Linux6 = "Linux 6",
    }
}

impl Recovery {
    /// The name of the profile.
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

/// The packets that SLP copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Copied {
    /// Nothing: no SLP.
    Nothing,
    /// SYN and SYN-ACK.
    Handshake,
    /// With the paper's q: SYN and short PSH segments; and SYN-ACK, our extension.
    Paper,
    /// SYN, SYN-ACK, PSH and tails.
    Tails,
    /// The second data segment alone, to measure the effect of packets between original and copy.
    Second,
}

impl Copied {
    /// The copies that are combined with every mechanism.
    pub const ALWAYS: [Self; 3] = [Self::Nothing, Self::Paper, Self::Tails];

    /// The copies that are run without other mechanism.
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

/// The settings of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// The data of the flows.
    pub load: Load,
    /// How packets are lost.
    pub network: Network,
    /// The mechanism besides SLP.
    pub recovery: Recovery,
    /// The packets that SLP copies.
    pub copied: Copied,
    /// The `slp.gap` setting.
    pub gap: &'static str,
}

impl Setup {
    /// Every mechanism with and without copies. For each load and network the first setup has neither.
    pub fn mechanisms() -> Vec<Self> {
        let mut setups = vec![];
        for (load, network) in everywhere() {
            for recovery in Recovery::ALL {
                let copied: &[Copied] = match recovery {
                    Recovery::Nothing => &Copied::ALONE,
                    _ => &Copied::ALWAYS,
                };
                setups.extend(copied.iter().map(|copied| Self { load, network, recovery, copied: *copied, gap: GAP }));
            }
        }
        setups
    }

    /// Short flows with different gaps: copies of tails with gaps from 0 to one SRTT, and copies of the
    /// second data segment, which follow the rest of its window.
    pub fn gaps() -> Vec<Self> {
        let tried =
            GAPS.into_iter().filter(|gap| *gap != GAP).map(|gap| (Copied::Tails, gap)).chain([(Copied::Second, GAP)]);
        let tried = Network::ALL.map(|network| tried.clone().map(move |tried| (network, tried)));
        let setup =
            |(network, (copied, gap))| Self { load: Load::Short, network, recovery: Recovery::Nothing, copied, gap };
        tried.into_iter().flatten().map(setup).collect()
    }

    /// This load and network with another mechanism and other copies, at the default gap.
    pub fn with(self, recovery: Recovery, copied: Copied) -> Self {
        Self { recovery, copied, gap: GAP, ..self }
    }

    /// The name of the profile.
    pub fn profile(&self) -> String {
        let slp = match self.copied {
            Copied::Nothing => "",
            _ => "+slp",
        };
        format!("{}{slp}", self.recovery.profile())
    }

    /// The settings, from those of `run`.
    pub fn settings(&self, run: &experiment::Setup) -> Result<Settings> {
        let drop = if run.is_mutated("lossier") { self.network.drop_at(0.03) } else { self.network.drop() };
        let (q, load) = (self.copied.likelihoods(), self.load.settings());
        run.settings(&format!("{load} drop={drop} slp.q={q} slp.gap={}", self.gap))
    }
}

/// Each load on each network.
pub fn everywhere() -> impl Iterator<Item = (Load, Network)> {
    Load::ALL.into_iter().flat_map(|load| Network::ALL.map(|network| (load, network)))
}
