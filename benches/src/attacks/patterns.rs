//! The patterns.

use super::{
    Attack,
    wire::{MSS, SUPER, Wire},
};

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    attack("super-segments, nothing acknowledged", 45, super_segments),
    attack("super-segments resent", 45, super_segments_resent),
    attack("resends of 1 to 3 bytes", 1, tiny_resends),
    attack("random resends at one timestamp", 1, one_timestamp),
    attack("random resends", 1, random_resends),
    attack("random resends of any length", 15, any_resends),
    attack("random resends, SACKs and ACKs", 1, mixed),
    attack("single bytes resent in one packet", 1, bytes_resent_together),
    attack("gaps filled backwards", 1, gaps_backwards),
    attack("wrapping jumps", 1, wrapping_jumps),
    attack("a SACK now and then", 1, rare_sacks),
    attack("a loss now and then", 1, rare_losses),
    attack("duplicate ACKs", 1, duplicate_acks),
    attack("random SACK blocks", 1, random_sacks),
    attack("reneging", 1, reneging),
    attack("timeouts", 1, timeouts),
    attack("single bytes SACKed", 23, single_bytes_sacked),
    attack("DSACKs of everything", 1, wide_dsacks),
    attack("older copies of long segments", 22, older_copies),
    attack("repeated ACKs of open holes", 1, repeated_acks),
    attack("repeated ACKs and new holes", 1, repeated_acks_and_holes),
    attack("many copies with many DSACKs", 1, many_copies),
    attack("half acknowledged retransmissions", 1, half_acknowledged),
    attack("old echoes", 1, old_echoes),
    attack("SYNs", 1, syns),
    attack("resets, then more data", 1, resets),
    attack("connections that never close", 1, never_closed),
    attack("connections of one packet", 1, one_packet),
    attack("connections that replace each other", 1, replaced),
    attack("connections with losses", 1, lossy_connections),
    attack("connections with gaps", 1, connections_with_gaps),
    attack("connections with long outstanding data", 42, long_connections),
];

const fn attack(name: &'static str, segments: u32, step: fn(&mut Wire)) -> Attack {
    Attack { name, step, segments }
}

/// Opens the connection in the first step.
fn opened(wire: &mut Wire, sack: bool) {
    if wire.steps == 0 {
        wire.open(sack);
        wire.new_data(MSS);
        wire.advance(MSS);
    }
}

fn super_segments(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(SUPER);
    if wire.steps % 64 == 63 {
        wire.data(wire.una, MSS);
    }
}

fn super_segments_resent(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(SUPER);
    let seq = wire.outstanding(SUPER);
    wire.data(seq, SUPER);
}

fn tiny_resends(wire: &mut Wire) {
    opened(wire, true);
    if wire.steps.is_multiple_of(4) {
        wire.new_data(MSS);
    }
    let seq = wire.outstanding(1);
    let len = 1 + wire.below(3);
    wire.data(seq, len);
}

fn one_timestamp(wire: &mut Wire) {
    wire.timestamp = Some(1);
    random_resends(wire);
}

fn random_resends(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(MSS);
    let seq = wire.outstanding(MSS);
    wire.data(seq, MSS);
}

fn any_resends(wire: &mut Wire) {
    opened(wire, true);
    if wire.steps.is_multiple_of(2) {
        wire.new_data(MSS);
    }
    let seq = wire.outstanding(1);
    let len = 1 + wire.below(64_000).min(wire.nxt.wrapping_sub(seq + 1));
    wire.data(seq, len);
}

fn mixed(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(MSS);
    let seq = wire.outstanding(1);
    match wire.below(8) {
        0 => {
            let len = 1 + wire.below(1000);
            wire.ack(wire.una, &[[seq, seq.wrapping_add(len)]]);
        }
        1 => {
            let most = wire.nxt.wrapping_sub(wire.una);
            let len = wire.below(most.min(2 * MSS));
            wire.advance(len);
        }
        2 => wire.ack(wire.una, &[]),
        _ => {
            let len = 1 + wire.below(4 * MSS);
            wire.data(seq, len);
        }
    }
}

/// Every second segment is missing. Of each block of missing ones, the last is filled first.
fn gaps_backwards(wire: &mut Wire) {
    opened(wire, true);
    const BLOCK: u32 = 5000;
    let (block, i) = (wire.steps / (2 * BLOCK), wire.steps % (2 * BLOCK));
    let begins = 1 + MSS + block * 2 * BLOCK * MSS;
    if i < BLOCK {
        wire.data(begins.wrapping_add((2 * i + 1) * MSS), MSS);
    } else {
        let left = 2 * BLOCK - 1 - i;
        wire.data(begins.wrapping_add(2 * left * MSS), MSS);
    }
}

fn wrapping_jumps(wire: &mut Wire) {
    opened(wire, true);
    wire.nxt = wire.nxt.wrapping_add(wire.below(1 << 30));
    wire.new_data(MSS);
    if wire.steps % 8 == 7 {
        let back = wire.below(1 << 29);
        wire.data(wire.nxt.wrapping_sub(back), MSS);
    }
}

/// Everything stays outstanding. A recording begins with each SACK block, and ends quietly.
fn rare_sacks(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(MSS);
    if wire.steps % 100 == 99 {
        let seq = wire.outstanding(MSS);
        wire.ack(wire.una, &[[seq + MSS, seq + 2 * MSS]]);
    }
}

/// As many segments stay outstanding as a window of 1 GB holds, and one of 200 is retransmitted.
fn rare_losses(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(MSS);
    if wire.nxt.wrapping_sub(wire.una) > 1 << 27 || wire.steps % 2 == 1 {
        wire.advance(MSS);
    }
    if wire.steps % 200 == 199 {
        wire.data(wire.una, MSS);
        wire.advance(MSS);
    }
}

fn duplicate_acks(wire: &mut Wire) {
    opened(wire, false);
    wire.new_data(MSS);
    if wire.steps % 100 < 4 {
        wire.ack(wire.una, &[]);
    }
    if wire.steps % 400 == 5 {
        wire.data(wire.una, MSS);
    }
}

fn random_sacks(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(MSS);
    let blocks = [(); 3].map(|()| {
        let seq = wire.outstanding(MSS);
        [seq + MSS, seq + 2 * MSS]
    });
    wire.ack(wire.una, &blocks);
    if wire.steps.is_multiple_of(8) {
        let seq = wire.outstanding(MSS);
        wire.data(seq, MSS);
    }
}

/// The receiver SACKs everything but the first segment, then acknowledges up to what it has SACKed,
/// and no further.
fn reneging(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(MSS);
    wire.new_data(MSS);
    let [from, to] = [wire.una + MSS, wire.nxt];
    wire.ack(wire.una, &[[from, to]]);
    wire.data(wire.una, MSS);
    wire.advance(MSS);
    wire.gap = 1_000_000;
}

/// The head is retransmitted by the timer again and again, and an ACK shows that it was spurious.
fn timeouts(wire: &mut Wire) {
    opened(wire, true);
    (0..8).for_each(|_| wire.new_data(MSS));
    wire.now += 2_000_000_000;
    wire.data(wire.una, MSS);
    wire.advance(MSS);
}

/// Every second byte is SACKed, then all is retransmitted in one packet again and again.
fn single_bytes_sacked(wire: &mut Wire) {
    opened(wire, true);
    if wire.steps == 0 {
        wire.new_data(SUPER);
    }
    if wire.steps % 4096 < 2000 {
        let seq = wire.una + wire.steps % 4096 * 8;
        let block = |i: u32| [seq + 2 * i + 1, seq + 2 * i + 2];
        wire.ack(wire.una, &[block(0), block(1), block(2)]);
    } else {
        wire.now += 40_000_000;
        wire.data(wire.una, SUPER);
    }
    if wire.steps % 4096 == 4095 {
        wire.advance(SUPER);
        wire.new_data(SUPER);
    }
}

/// Single bytes are retransmitted, and DSACKs report all of them at once.
fn wide_dsacks(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(MSS);
    wire.data(wire.nxt - MSS + wire.steps % 700 * 2, 1);
    wire.data(wire.nxt - MSS + wire.steps % 600 * 2 + 1, 1);
    let end = wire.nxt;
    wire.ack(end, &[[end.wrapping_sub(1 << 24).max(2), end]]);
    wire.una = end;
}

/// Long segments are retransmitted; then single bytes of them arrive, in copies that are older.
fn older_copies(wire: &mut Wire) {
    opened(wire, true);
    wire.timestamp = Some(1000);
    wire.new_data(SUPER);
    for i in 0..120 {
        wire.timestamp = Some(2000 + i);
        wire.data(wire.nxt - SUPER, SUPER);
    }
    wire.timestamp = Some(10);
    for i in 0..120 {
        wire.data(wire.nxt - SUPER + 500 * i + 1, 1);
    }
}

/// Holes that were retransmitted many times stay open, while ACKs repeat the last one.
fn repeated_acks(wire: &mut Wire) {
    opened(wire, true);
    if wire.steps == 0 {
        (0..250).for_each(|_| wire.new_data(MSS));
        for _ in 0..16 {
            for i in 0..250 {
                wire.data(wire.una + i * MSS, MSS);
            }
        }
    }
    wire.gap = 2_000_000;
    wire.ack(wire.una, &[]);
}

/// Many retransmissions wait for verdicts, while some are decided all the time.
fn half_acknowledged(wire: &mut Wire) {
    opened(wire, true);
    wire.new_data(2 * MSS);
    wire.data(wire.nxt - 2 * MSS, MSS);
    let [from, to] = [wire.nxt - MSS, wire.nxt];
    wire.data(from, MSS);
    wire.ack(wire.una, &[[from, to]]);
    wire.gap = 1_000_000;
}

fn resets(wire: &mut Wire) {
    opened(wire, true);
    (0..20).for_each(|_| wire.new_data(MSS));
    wire.data(wire.nxt - MSS, MSS);
    if wire.steps % 2 == 1 {
        wire.connection += 1;
        wire.open(true);
        wire.new_data(MSS);
    }
}

fn never_closed(wire: &mut Wire) {
    wire.connection = wire.steps;
    wire.open(true);
    wire.new_data(MSS);
}

fn one_packet(wire: &mut Wire) {
    wire.connection = wire.steps;
    wire.nxt = 1;
    wire.new_data(MSS);
}

fn lossy_connections(wire: &mut Wire) {
    wire.connection = wire.steps;
    wire.open(true);
    (0..3).for_each(|_| wire.new_data(MSS));
    wire.ack(wire.una, &[[1 + MSS, 1 + 3 * MSS]]);
    wire.data(1, MSS);
}

fn long_connections(wire: &mut Wire) {
    wire.connection = wire.steps;
    wire.open(true);
    wire.new_data(MSS);
    wire.advance(MSS);
    (0..500).for_each(|_| wire.new_data(SUPER));
    for i in 0..40 {
        wire.data(wire.una + i * 3 * MSS, MSS);
    }
}

/// Single bytes are sent, then resent all together.
fn bytes_resent_together(wire: &mut Wire) {
    opened(wire, true);
    if wire.steps < 125 {
        (0..16).for_each(|_| wire.new_data(1));
    } else {
        wire.new_data(1);
        wire.data(wire.nxt - 2000, 2000);
    }
}

/// ACKs that repeat the last one come before each new hole.
fn repeated_acks_and_holes(wire: &mut Wire) {
    opened(wire, true);
    wire.gap = 1_000_000;
    if wire.steps % 1000 < 300 {
        wire.ack(wire.una, &[]);
    } else {
        wire.new_data(2 * MSS);
        let seq = wire.nxt - 2 * MSS;
        wire.timestamp = Some(5);
        wire.data(seq, MSS);
        wire.timestamp = None;
    }
}

/// Each segment is sent 17 times, and five DSACKs report it.
fn many_copies(wire: &mut Wire) {
    opened(wire, true);
    wire.gap = 1_500_000;
    wire.new_data(MSS);
    let seq = wire.nxt - MSS;
    (0..16).for_each(|_| wire.data(seq, MSS));
    wire.advance(MSS);
    (0..5).for_each(|_| wire.ack(wire.una, &[[seq, seq + MSS]]));
}

/// ACKs echo the oldest timestamp.
fn old_echoes(wire: &mut Wire) {
    opened(wire, true);
    wire.gap = 1_000_000;
    wire.new_data(MSS);
    wire.new_data(MSS);
    if wire.steps.is_multiple_of(8) {
        wire.data(wire.una, MSS);
    }
    wire.timestamp = Some(1);
    wire.ack(wire.una, &[[wire.una + MSS, wire.una + 2 * MSS]]);
    wire.timestamp = None;
    if wire.steps.is_multiple_of(64) {
        wire.advance(64 * 2 * MSS);
    }
}

/// SYNs and SYN-ACKs again and again, with data between.
fn syns(wire: &mut Wire) {
    wire.open(true);
    wire.new_data(MSS);
    if wire.steps.is_multiple_of(50) {
        wire.connection += 1;
    }
}

/// Each connection begins with a new sequence number between the same ends.
fn replaced(wire: &mut Wire) {
    wire.now += 61_000_000_000;
    wire.open(true);
    wire.new_data(MSS);
    wire.data(wire.nxt - MSS, MSS);
    wire.first += 100_000;
}

/// Each connection consists of two segments with many missing between them, and of a retransmission.
fn connections_with_gaps(wire: &mut Wire) {
    wire.connection = wire.steps;
    wire.nxt = 1;
    wire.new_data(MSS);
    wire.nxt += 1 << 28;
    wire.new_data(MSS);
    wire.data(wire.nxt - MSS, MSS);
}
