use super::*;
use recoup_wire::Timestamps;

const WAY: u64 = 100;

/// The sequence number is the time if there is payload.
fn push(acks: &mut RecentAcks, at: u64, cumulative: u64, payload_len: u32) {
    let fields = TcpFields {
        seq: SeqNumber(at as u32 * payload_len.min(1)),
        ack: SeqNumber(0),
        payload_len,
        window: 0,
        flags: Flags::ACK,
        timestamps: Some(Timestamps { value: at as u32, echo: 1 }),
        ip_id: None,
    };
    let ack = PassingAck {
        at: Instant::from_nanos(at),
        cumulative: Offset(cumulative),
        window: 1000,
        blocks: &[],
        fields: &fields,
        echo: Some(1),
    };
    acks.push(ack, WAY);
}

/// When the ACKs kept passed, and what they acknowledge.
fn kept(acks: &RecentAcks) -> Vec<(u64, u64)> {
    let acks = acks.iter();
    acks.map(|ack| (ack.at.as_nanos(), ack.cumulative.0)).collect()
}

#[test]
fn of_the_acks_with_data_that_say_the_same_the_first_and_the_last_are_kept() {
    let mut acks = RecentAcks::default();
    for at in 1..=50 {
        push(&mut acks, at, 10, 1);
    }
    push(&mut acks, 51, 20, 1);
    assert_eq!(kept(&acks), [(1, 10), (50, 10), (51, 20)]);
}

#[test]
fn duplicate_acks_are_all_kept() {
    let mut acks = RecentAcks::default();
    for at in 1..=4 {
        push(&mut acks, at, 10, 0);
    }
    assert_eq!(kept(&acks), [(1, 10), (2, 10), (3, 10), (4, 10)]);
}

#[test]
fn the_first_ack_of_everything_is_known_after_it_is_forgotten() {
    let mut acks = RecentAcks::default();
    for at in 1..=400 {
        push(&mut acks, at, 10, 1);
    }
    assert_eq!(kept(&acks), [(400, 10)]);
    assert_eq!(acks.ts_of(Offset(10)), Some(1));
    assert_eq!(acks.ts_of(Offset(11)), None);
}

#[test]
fn old_acks_are_forgotten_but_not_the_last_eight() {
    let mut acks = RecentAcks::default();
    for i in 1..=6 {
        push(&mut acks, i, i * 10, 1);
    }
    for at in 200..=201 {
        push(&mut acks, at, 70, 1);
    }
    assert_eq!(kept(&acks)[0], (1, 10));
    // The last repeated ACK stands for many, but an old ACK before them need not be among the last eight.
    for at in 202..=230 {
        push(&mut acks, at, 70, 1);
    }
    assert_eq!(kept(&acks), [(200, 70), (230, 70)]);
    assert_eq!(acks.before().map(|before| before.una), Some(Offset(60)));
    assert_eq!(acks.ts_of(Offset(65)), Some(200));
}
