//! Whatever a capture holds, reruns end without a panic, and give the same twice.

use proptest::{
    prelude::*,
    test_runner::{TestCaseError, TestRunner},
};
use recoup_recovery::{Mechanisms, Profile, Trigger, rtt::Factor};
use recoup_tcp::flow::Host;
use recoup_trace::{
    finding::{Evidence, Retransmission, Vantage, Verdict},
    read::{CapturedPacket, Packet},
};
use recoup_units::{Direction, Instant, Segments};
use recoup_whatif::{
    AckDelays, ConnectionPackets, Fates, Rerunner, Trial,
    bottleneck::Bottleneck,
    loss::LossProcess,
    parameters::{Change, ChangeKind, Grid, Subject, study},
    record,
};
use recoup_wire::{Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use std::{cell::Cell, sync::Arc, time::Duration};

/// A packet of a connection: offsets from the initial sequence numbers, and what may be wrong with it.
#[derive(Clone, Debug)]
struct Made {
    after_us: u32,
    up: bool,
    seq: u32,
    len: u16,
    ack: u32,
    window: u16,
    flags: u8,
    sack: Vec<(u32, u16)>,
}

fn offset() -> impl Strategy<Value = u32> {
    prop_oneof![
        8 => (0_u32..40).prop_map(|segments| 1 + segments * 1448),
        2 => 0_u32..60_000,
        1 => any::<u32>(),
    ]
}

fn made() -> impl Strategy<Value = Made> {
    let length = prop_oneof![3 => Just(1448_u16), 3 => Just(0), 1 => any::<u16>()];
    let flags = prop_oneof![20 => Just(Flags::ACK.bits()), 2 => any::<u8>()];
    let sack = prop::collection::vec((offset(), any::<u16>()), 0..4);
    (0_u32..400_000, any::<bool>(), offset(), length, offset(), any::<u16>(), flags, sack).prop_map(
        |(after_us, up, seq, len, ack, window, flags, sack)| Made { after_us, up, seq, len, ack, window, flags, sack },
    )
}

/// Packets as a real connection begins: the server sends segments in order, and the client acknowledges most of them.
fn orderly() -> impl Strategy<Value = Vec<Made>> {
    prop::collection::vec((1_000_u32..100_000, any::<bool>()), 1..30).prop_map(|sent| {
        let packet = |after_us, up, seq, len, ack| Made {
            after_us,
            up,
            seq,
            len,
            ack,
            window: 60_000,
            flags: Flags::ACK.bits(),
            sack: vec![],
        };
        let mut packets = vec![packet(20_000, true, 1, 0, 1)];
        let mut seq = 1;
        for (after_us, is_acknowledged) in sent {
            packets.push(packet(after_us, false, seq, 1448, 1));
            seq += 1448;
            if is_acknowledged {
                packets.push(packet(20_000, true, 1, 0, seq));
            }
        }
        packets
    })
}

/// Packets of a connection after its handshake: any, or an orderly beginning and any.
fn packets() -> impl Strategy<Value = Vec<Made>> {
    let any = |most| prop::collection::vec(made(), 0..most);
    let after_order = (orderly(), any(20)).prop_map(|(orderly, any)| [orderly, any].concat());
    prop_oneof![3 => any(120), 1 => after_order]
}

/// A connection with a handshake, and these packets after it.
fn connection(packets: &[Made], mss: u16, scale: u8) -> ConnectionPackets {
    let isns = [SeqNumber(7), SeqNumber(u32::MAX - 20_000)];
    let options = Options {
        mss: Some(mss),
        window_scale: Some(scale),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Options::NONE
    };
    let syn = |own: usize| Segment {
        seq: isns[own],
        ack: isns[1 - own] + 1,
        window: 64_000,
        flags: match own {
            0 => Flags::SYN,
            _ => Flags::SYN | Flags::ACK,
        },
        options,
        ..Segment::default()
    };
    let mut all = ConnectionPackets::new();
    let mut at = Instant::from_millis(1_000);
    let mut frame = 0;
    let mut push = |at: Instant, own: usize, segment: Segment| {
        let mut packet = CapturedPacket::from(&Packet::default());
        frame += 1;
        (packet.at, packet.frame, packet.segment) = (at, frame, segment);
        let direction = [Direction::Up, Direction::Down][own];
        all.push(&packet, direction);
    };
    push(at, 0, syn(0));
    push(at, 1, syn(1));
    for made in packets {
        at = at.plus_nanos(u64::from(made.after_us) * 1_000);
        let own = usize::from(!made.up);
        let mut sack = SackBlocks::NONE;
        for (start, len) in &made.sack {
            let start = isns[1 - own] + *start;
            sack.push([start, start + u32::from(*len)]);
        }
        let segment = Segment {
            seq: isns[own] + made.seq,
            ack: isns[1 - own] + made.ack,
            payload_len: made.len.into(),
            window: made.window,
            flags: Flags::from_bits(made.flags),
            options: Options { sack, timestamps: Some(Timestamps::default()), ..Options::NONE },
        };
        push(at, own, segment);
    }
    all
}

/// Reruns a connection under two mechanisms, and returns whether its own rerun reproduces it.
fn rerun(packets: &ConnectionPackets, sender: Host) -> Result<bool, TestCaseError> {
    let Ok(mut recorded) = record(packets, sender, &[]) else {
        return Ok(false);
    };
    recorded.set_ack_delays(&AckDelays::of(&recorded));
    if let Some(bottleneck) = Bottleneck::infer(&[recorded.transmissions()]) {
        recorded.set_bottleneck(&bottleneck);
    }
    let recorded = Arc::new(recorded);
    let profiles = [Mechanisms::LINUX_6, Mechanisms::RENO];
    let mut rerunner = Rerunner::new();
    let Ok(reproduced) = rerunner.reproduce(&recorded, &profiles) else {
        return Ok(false);
    };
    let losses = LossProcess::of(recorded.losses());
    for mechanisms in [Mechanisms::LINUX_6, Mechanisms::RENO] {
        let trial = Trial::of(mechanisms);
        let mut run = || rerunner.run(&recorded, &reproduced, &trial, Fates::captured(&losses, 1));
        prop_assert_eq!(run(), run());
    }
    Ok(true)
}

#[test]
fn reruns_of_anything_end_and_repeat() {
    let connections = (
        packets(),
        prop_oneof![Just(1460_u16), any::<u16>()],
        0_u8..=15,
        prop_oneof![Just(Host::Client), Just(Host::Server)],
    );
    let config = ProptestConfig::with_cases(2 * ProptestConfig::default().cases);
    let reproduced = Cell::new(0);
    let result = TestRunner::new(config).run(&connections, |(packets, mss, scale, sender)| {
        let packets = connection(&packets, mss, scale);
        let is_reproduced = rerun(&packets, sender)?;
        reproduced.set(reproduced.get() + u32::from(is_reproduced));
        Ok(())
    });
    result.unwrap();
    println!("{} of 400 connections were rerun", reproduced.get());
    assert!(reproduced.get() > 0, "no connection was rerun under a mechanism");
}

/// A possible finding about the packet in this frame.
fn retransmission(frame: u64, random: u32) -> Retransmission {
    let of = |shift: u32, choices: usize| (random >> shift) as usize % choices;
    let time = |shift: u32| {
        let millis = Duration::from_millis(u64::from(random >> shift) % 2000);
        (of(shift, 3) > 0).then_some(millis)
    };
    Retransmission {
        frame,
        at: Instant::from_millis(1_000 + frame * 40),
        connection: 0,
        endpoints: CapturedPacket::from(&Packet::default()).endpoints,
        seq: SeqNumber(random % 9),
        len: 1448,
        syn: false,
        fin: false,
        triggers: Trigger::ALL[of(0, Trigger::ALL.len())].into(),
        verdict: Verdict::ALL[of(4, 3)],
        evidence: Evidence::Dsack,
        copy: 1,
        detection: time(5),
        recovery: time(7),
        rtt: time(9),
        flight: random >> 12,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: None,
    }
}

#[test]
fn studies_of_anything_end_and_repeat() {
    let connections = (
        prop::collection::vec((made(), any::<u32>()), 0..120),
        prop_oneof![Just(Host::Client), Just(Host::Server)],
        prop_oneof![Just("linux-6"), Just("linux-2.4"), Just("windows-xp"), Just("freebsd-5")],
    );
    let instances = Grid {
        dupthreshs: vec![Segments::ONE, Segments(5)],
        srtt_factors: vec![Factor(0), Factor::MAX],
        rttvar_factors: vec![Factor(0), Factor::whole(2), Factor::MAX],
        min_rtos: vec![Duration::ZERO, Duration::from_secs(9)],
        ..Grid::default()
    }
    .instances();
    let studied = Cell::new(0);
    let result = TestRunner::new(ProptestConfig::with_cases(2 * ProptestConfig::default().cases)).run(
        &connections,
        |(made, sender, profile)| {
            let (made, random): (Vec<_>, Vec<_>) = made.into_iter().unzip();
            let packets = connection(&made, 1460, 7);
            let rows: Vec<_> = (3..).zip(random).filter(|(_, random)| random % 3 == 0).collect();
            let rows: Vec<_> = rows.into_iter().map(|(frame, r)| retransmission(frame, r)).collect();
            let profile: Profile = profile.parse().unwrap();
            let subject = Subject {
                packets: &packets,
                sender,
                profile: &profile,
                retransmissions: &rows,
                counts_undo: true,
                lists_events: true,
            };
            let found = study(&subject, &instances);
            prop_assert_eq!(&found, &study(&subject, &instances));
            if let Ok(found) = found {
                let listed: u32 = found.events.iter().map(|_| 1).sum();
                let counted = ChangeKind::ALL.map(|kind| {
                    let of = |change: &Change| change.events(kind);
                    found.changes.iter().map(of).sum::<u32>()
                });
                prop_assert_eq!(listed, counted.iter().sum::<u32>());
                studied.set(studied.get() + listed);
            }
            Ok(())
        },
    );
    result.unwrap();
    assert!(studied.get() > 0, "no detection changed");
}
