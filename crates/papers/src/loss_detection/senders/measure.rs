//! One measurement of one sender each.

use super::super::micro::{Fate, Transfer, ms};
use crate::prelude::*;
use Fate::{Late, Lost, Passes};

/// RTT samples of the comparison with the formula.
const SAMPLES: u64 = 300;

/// From the first SYN-ACK to the second, if the first is lost, in ms.
pub fn initial_rto(sender: Mechanisms) -> f64 {
    let mut sent: Vec<Instant> = vec![];
    Transfer::new(sender, 1).run(|packet| {
        if !packet.syn || packet.direction != Direction::Down {
            return Passes;
        }
        sent.push(packet.at);
        match packet.copy {
            1 => Lost,
            _ => Passes,
        }
    });
    match sent[..] {
        [first, second, ..] => ms(second.since(first)),
        _ => NAN,
    }
}

/// The last of 40 segments is lost, at a steady RTT: from the last ACK to its retransmission, and the RTO at that time,
/// in ms.
pub fn tail_wait(sender: Mechanisms, rtt_ms: u64) -> [f64; 2] {
    let transfer = Transfer { rtt: Duration::from_millis(rtt_ms), ..Transfer::new(sender, 40) };
    let run = transfer.run_with(&[40], Lost);
    let Some((at, 40, Trigger::Rto)) = run.first_retransmission() else {
        return [NAN; 2];
    };
    let acks = run.acks_arrived().filter(|(arrived, _)| *arrived < at);
    // The ACK of the segment before may have arrived before the last segment was sent.
    let set = acks.map(|(arrived, _)| arrived).max().max(run.first_sent(40)).unwrap_or(at);
    let rto = run.rtt_samples().last().map_or(NAN, |[.., rto]| *rto);
    [ms(at.since(set)), rto]
}

/// Sample, SRTT and RTO (ms) over RTTs of `rtt_ms` and up to `most` ms more, one segment a flight.
pub fn jittery(sender: Mechanisms, rtt_ms: u64, most: u64) -> Vec<[f64; 3]> {
    one_by_one(sender, rtt_ms, |segment| match most {
        0 => 0,
        _ => segment * 7919 % most,
    })
    .rtt_samples()
}

/// A transfer of one segment a flight: the RTT in ms, and what the data segments take longer.
pub fn one_by_one(sender: Mechanisms, rtt_ms: u64, extra_ms: impl Fn(u64) -> u64) -> Log {
    let transfer = Transfer { rtt: Duration::from_millis(rtt_ms), buffer: 1, ..Transfer::new(sender, SAMPLES) };
    transfer.run(|packet| match packet.segment {
        0 => Passes,
        segment => Late(Duration::from_millis(extra_ms(segment))),
    })
}

pub fn mean_rto(rtos: &[[f64; 3]]) -> f64 {
    rtos.iter().map(|[.., rto]| rto).sum::<f64>() / rtos.len() as f64
}

/// The largest of 1, 10, 100 and 1000 ms of which all RTOs are multiples; 0 if none.
pub fn tick(rtos: &[[f64; 3]]) -> f64 {
    let divides = |tick: &f64| {
        rtos.iter().all(|[.., rto]| {
            let ticks = rto / tick;
            (ticks - ticks.round()).abs() < 1e-6
        })
    };
    [1000.0, 100.0, 10.0, 1.0].into_iter().find(divides).unwrap_or(0.0)
}

/// a, b, m and k from the RTOs after a steady RTT of 2 s, and after one sample of 4 s.
pub fn factors_of(sender: Mechanisms) -> [f64; 4] {
    let steady = one_by_one(sender, 2000, |_| 0).rtt_samples();
    let step = one_by_one(sender, 2000, |segment| match segment {
        1 => 2000,
        _ => 0,
    })
    .rtt_samples();
    let (Some(last), Some([first, second])) = (steady.last(), step.get(..2)) else {
        return [NAN; 4];
    };
    let ([rtt, srtt, rto], [sample, srtt2, rto2]) = (*first, *second);
    let m = last[2] / last[0];
    let k = (rto - m * srtt) / (rtt / 2.0);
    let b = (srtt2 - srtt) / (sample - srtt);
    let rttvar = (rto2 - m * srtt2) / k;
    let deviation = (srtt - sample).abs();
    let a = (rttvar - rtt / 2.0) / (deviation - rtt / 2.0);
    [a, b, m, k]
}

/// Sample, SRTT and RTO after the RTT rose from 2 s to 5 s.
pub fn after_a_step(sender: Mechanisms) -> [f64; 3] {
    one_by_one(sender, 2000, |segment| match segment {
        1 => 3000,
        _ => 0,
    })
    .rtt_samples()
    .get(1)
    .copied()
    .unwrap_or([NAN; 3])
}

/// The share of RTT samples below the RTO before them, in %.
pub fn covered(rtos: &[[f64; 3]]) -> f64 {
    let covered = rtos.windows(2).filter(|pair| pair[1][0] < pair[0][2]);
    100.0 * covered.count() as f64 / (rtos.len() - 1) as f64
}

/// The duplicate ACKs that had arrived when a lost segment was retransmitted. The segments arrive 1 ms apart.
pub fn dupthresh(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(20);
    let transfer = Transfer { spacing: Duration::from_millis(1), ..Transfer::new(sender, 20) };
    let run = transfer.run_with(&[5], Lost);
    let Some((at, 5, Trigger::Fast)) = run.first_retransmission() else {
        return NAN;
    };
    run.duplicates(5).iter().filter(|arrived| **arrived <= at).count() as f64
}

/// RTT samples per flight of ten segments, in 40 flights after the first ones.
pub fn samples_per_flight(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(10);
    let transfer = Transfer { buffer: 10, ..Transfer::new(sender, 400) };
    let samples = transfer.run(|_| Passes).rtt_samples().len();
    (samples as f64 - 1.0) / 40.0
}

/// The share of the RTOs that are those of §II and Table I in whole ticks, and the largest distance to them, in %.
pub fn formula(sender: Mechanisms) -> [f64; 2] {
    let rules = sender.rto;
    let (m, min, tick) = (rules.srtt_factor.as_f64(), ms(rules.min), ms(rules.granularity));
    let mut state: Option<(f64, f64)> = None;
    let rtos = jittery(sender, 300, 300);
    let (mut equal, mut most) = (0, 0.0_f64);
    for [rtt, _, rto] in &rtos {
        let (srtt, rttvar) = state.map_or((*rtt, rtt / 2.0), |(srtt, rttvar)| {
            let deviation = (srtt - rtt).abs();
            (0.875 * srtt + 0.125 * rtt, 0.75 * rttvar + 0.25 * deviation)
        });
        state = Some((srtt, rttvar));
        let exact = (m * srtt + 4.0 * rttvar).max(min);
        let above = rto - exact;
        if (-1e-3..tick + 1e-3).contains(&above) {
            equal += 1;
        }
        // Ticks are no difference.
        let off = if above < 0.0 { -above } else { (above - tick).max(0.0) };
        most = most.max(100.0 * off / exact);
    }
    [100.0 * f64::from(equal) / rtos.len() as f64, most]
}

/// The SYN-ACK takes 1 s, everything else 100 ms: RTTs from the first data until the RTO is at most one and a half times
/// its final value.
pub fn converges(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(10);
    sender.rto.min = Duration::ZERO;
    let transfer = Transfer { buffer: 10, ..Transfer::new(sender, 2000) };
    let run = transfer.run(|packet| match (packet.syn, packet.direction) {
        (true, Direction::Down) => Late(Duration::from_millis(900)),
        _ => Passes,
    });
    let samples: Vec<(Instant, f64)> = run
        .events(Host::Server)
        .filter_map(|(at, event)| match event {
            Event::RttSample { rto, .. } => Some((at, ms(*rto))),
            _ => None,
        })
        .collect();
    let (Some(begin), Some((_, last))) = (run.first_sent(1), samples.last()) else {
        return NAN;
    };
    let slow = samples.iter().rposition(|(_, rto)| *rto > 1.5 * last);
    slow.map_or(samples.first(), |slow| samples.get(slow + 1)).map_or(NAN, |(at, _)| ms(at.since(begin)) / 100.0)
}

/// Of 900 segments, the 30th and the 808th are overtaken by those after it: the number of fast retransmits. The segments
/// of a flight arrive 1 ms apart.
pub fn overtaken_twice(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(20);
    let transfer =
        Transfer { buffer: 20, evidence: true, spacing: Duration::from_millis(1), ..Transfer::new(sender, 900) };
    transfer
        .run_with(&[30, 808], Late(Duration::from_millis(40)))
        .transmissions()
        .filter(|(.., again)| *again == Some(Trigger::Fast))
        .filter(|(_, segment, _)| [30, 808].contains(segment))
        .count() as f64
}
