//! Random cases: two hosts, their workload, and a hostile network.

use proptest::prelude::*;
use recoup_path::PathSpec;
use recoup_path::{GilbertElliott, HopSpec, LossKind, LossSpec, Outages, Policer, Probability, Queue};
use recoup_recovery::Profile;
use recoup_recovery::profile::{BASES, Mechanism};
use recoup_sim::{FlowSpec, TimerModel};
use recoup_tcp::flow::Workload;
use recoup_tcp::{AckPolicy, Config};
use recoup_units::{BitRate, FlowId};
use std::time::Duration;

/// A sender gives up only if nothing arrives: with the maximum RTO of 120 s, this is time for some 700
/// retransmissions.
const USER_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// The configuration of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    pub profile: Profile,
    pub acks: AckPolicy,
    pub mss: u16,
    /// The receive buffer, in bytes.
    pub buffer: u64,
    pub timestamps: bool,
    pub sack: bool,
}

impl Host {
    fn config(&self, user_timeout: Duration) -> Config {
        let mut mechanisms = *self.profile.mechanisms();
        mechanisms.user_timeout = user_timeout;
        Config {
            acks: self.acks,
            mss: self.mss,
            receive_buffer: self.buffer,
            timestamps: self.timestamps,
            sack: self.sack,
            ..Config::new(mechanisms)
        }
    }
}

/// A flow and its network. Its `Debug` text is the command that runs it again.
#[derive(Clone, PartialEq)]
pub struct Case {
    pub client: Host,
    pub server: Host,
    pub timers: TimerModel,
    pub request: u64,
    pub response: u64,
    pub close: bool,
    /// The user timeout of both hosts.
    pub user_timeout: Duration,
    pub up: Vec<HopSpec>,
    pub down: Vec<HopSpec>,
    pub seed: u64,
    pub flow: u64,
}

impl Case {
    pub fn spec(&self) -> FlowSpec {
        FlowSpec {
            client: self.client.config(self.user_timeout),
            server: self.server.config(self.user_timeout),
            timers: self.timers,
            workload: Workload::exchange(self.request, self.response).closing(self.close),
        }
    }

    pub fn path(&self) -> PathSpec {
        PathSpec { up: self.up.clone(), down: self.down.clone() }
    }

    pub fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }

    /// Whether a sender may give up before its data arrives.
    pub fn is_hopeless(&self) -> bool {
        self.user_timeout < USER_TIMEOUT
    }
}

/// Any two hosts with any network between them.
pub fn any_case() -> impl Strategy<Value = Case> {
    let size = || prop_oneof![1 => Just((0, 0)), 4 => (0..=10u64, 0..100u64), 2 => (0..=200u64, 0..100u64)];
    let hosts = (any_host(), any_host(), any_timers());
    let workload = (size(), size(), any::<bool>());
    let path = (any_hops(), any_hops());
    let repeat = (any::<u64>(), 0..1_000_000u64);
    (hosts, workload, path, repeat).prop_map(
        |((client, server, timers), (request, response, close), (up, down), (seed, flow))| {
            // `segments` segments, the last shortened by `percent`; fewer for a tiny buffer.
            let bytes = |(segments, percent): (u64, u64), from: &Host, to: &Host| {
                let mss = u64::from(from.mss.min(to.mss));
                let bytes = (segments * mss).saturating_sub(mss * percent / 100);
                bytes.min(400 * to.buffer)
            };
            Case {
                request: bytes(request, &client, &server),
                response: bytes(response, &server, &client),
                client,
                server,
                timers,
                close,
                user_timeout: USER_TIMEOUT,
                up,
                down,
                seed,
                flow,
            }
        },
    )
}

/// A network that drops so much that a sender may give up.
pub fn any_hopeless_case() -> impl Strategy<Value = Case> {
    let loss = (0.5..1.5f64).prop_map(|p| Probability::new(p.min(1.0)).expect("a probability"));
    (any_case(), loss, 1..4u8, 1..100u64).prop_map(|(mut case, loss, sides, patience)| {
        let loss = HopSpec::Loss(LossSpec { kind: LossKind::Bernoulli(loss), transmission: None });
        for (hops, bit) in [(&mut case.up, 1), (&mut case.down, 2)] {
            if sides & bit > 0 {
                hops.push(loss.clone());
            }
        }
        case.user_timeout = Duration::from_secs(patience);
        case
    })
}

fn any_host() -> impl Strategy<Value = Host> {
    let acks = prop_oneof![
        Just(AckPolicy::Quick),
        (1..=500u64).prop_map(|ms| AckPolicy::Delayed(Duration::from_millis(ms))),
        (0..=16u32).prop_map(|quick| AckPolicy::Linux { quick }),
    ];
    let mss = prop_oneof![4 => Just(1448u16), 1 => Just(536), 1 => 1..2000u16];
    // Large, some segments, or less than one segment.
    let buffer = prop_oneof![3 => Just(0), 2 => 1..20u64, 1 => Just(u64::MAX)];
    let agreed = (prop::bool::weighted(0.8), prop::bool::weighted(0.8));
    (any_profile(), acks, mss, buffer, agreed).prop_map(|(profile, acks, mss, buffer, (timestamps, sack))| Host {
        profile,
        acks,
        mss,
        buffer: match buffer {
            0 => 64 << 20,
            u64::MAX => (u64::from(mss) / 3).max(1),
            segments => segments * u64::from(mss) + segments,
        },
        timestamps,
        sack,
    })
}

/// Any profile with a few added mechanisms, often selective loss prevention.
fn any_profile() -> impl Strategy<Value = Profile> {
    let base = prop::sample::select(BASES.map(|(name, ..)| name).to_vec());
    let mechanisms = Mechanism::ALL.map(Mechanism::name).to_vec();
    let on_top = prop::sample::subsequence(mechanisms, 0..=5);
    let copies = prop::bool::ANY.prop_map(|on| if on { &["slp"][..] } else { &[] });
    (base, on_top, copies).prop_map(|(base, on_top, copies)| {
        let name = [&[base], &on_top[..], copies].concat().join("+");
        name.parse().expect("a profile")
    })
}

fn any_timers() -> impl Strategy<Value = TimerModel> {
    prop_oneof![
        Just(TimerModel::Exact),
        (1..=500u64).prop_map(|ms| TimerModel::Granularity(Duration::from_millis(ms))),
        prop::sample::select(vec![100, 250, 1000]).prop_map(|hz| TimerModel::LinuxWheel { hz }),
        prop::sample::select(vec![100, 250, 1000]).prop_map(|hz| TimerModel::LinuxJiffies { hz }),
    ]
}

/// One direction: up to four impairments in any order, and a delay.
fn any_hops() -> impl Strategy<Value = Vec<HopSpec>> {
    let delay = (0..100_000u64).prop_map(|us| HopSpec::Delay(Duration::from_micros(us)));
    (prop::collection::vec(any_impairment(), 0..=4), delay).prop_map(|(mut hops, delay)| {
        hops.push(delay);
        hops
    })
}

fn any_impairment() -> impl Strategy<Value = HopSpec> {
    let up_to = |most: f64| (0.0..most).prop_map(|p| Probability::new(p).expect("a probability"));
    let loss = |kind| HopSpec::Loss(LossSpec { kind, transmission: None });
    let at_least_half = (0.5..1.0f64).prop_map(|p| Probability::new(p).expect("a probability"));
    prop_oneof![
        3 => up_to(0.2).prop_map(move |p| loss(LossKind::Bernoulli(p))),
        2 => (up_to(0.1), at_least_half).prop_map(move |(to_bad, to_good)| {
            loss(LossKind::GilbertElliott(GilbertElliott::new(to_bad, to_good)))
        }),
        // Gaps and lengths with which flows still end, as the probabilities of the other losses.
        1 => (1000..20_000u64, 1..500u64, 0..=1u8, up_to(1.0)).prop_map(move |(gap, length, sigma, share)| {
            let outages = Outages::new(Duration::from_millis(gap), Duration::from_millis(length));
            loss(LossKind::Outages(Outages { sigma: sigma.into(), loss: share, ..outages }))
        }),
        1 => (100_000..10_000_000u64, 3000..100_000u64).prop_map(move |(bits, burst)| {
            let rate = BitRate::from_bits_per_second(bits).expect("above 0");
            loss(LossKind::Policer(Policer { rate, burst }))
        }),
        2 => (up_to(0.3), 0..200u64).prop_map(|(probability, ms)| HopSpec::Reorder {
            probability,
            extra: Duration::from_millis(ms),
        }),
        1 => up_to(0.3).prop_map(|probability| HopSpec::Duplicate { probability }),
        1 => up_to(0.1).prop_map(|probability| HopSpec::Corrupt { probability }),
        1 => (0..500u64).prop_map(|ms| HopSpec::ThinAcks { hold: Duration::from_millis(ms) }),
        2 => (100..100_000u64, any_queue()).prop_map(|(kbit, queue)| HopSpec::Rate {
            rate: BitRate::from_bits_per_second(kbit * 1000).expect("not zero"),
            queue,
        }),
    ]
}

fn any_queue() -> impl Strategy<Value = Queue> {
    prop_oneof![Just(Queue::Unlimited), (1..100u32).prop_map(Queue::Packets), (3000..200_000u64).prop_map(Queue::Bytes),]
}
