use super::*;

fn segment(flags: Flags) -> Segment {
    Segment { flags, ..Segment::default() }
}

#[test]
fn the_handshake_negotiates_ecn() {
    let ask = Flags::SYN | Flags::ECE | Flags::CWR;
    let agree = Flags::SYN | Flags::ACK | Flags::ECE;
    // (wanted, the peer's segment, agreed)
    let cases = [
        (Ecn::Off, ask, false),
        (Ecn::Answer, ask, true),
        (Ecn::Ask, ask, true),
        (Ecn::Ask, agree, true),
        (Ecn::Answer, agree, false),
        (Ecn::Ask, agree | Flags::CWR, false), // a broken peer reflects the bits
        (Ecn::Ask, Flags::SYN | Flags::ACK, false),
    ];
    for (wanted, flags, agreed) in cases {
        let mut ecn = EcnState::new(wanted);
        ecn.on_syn(&segment(flags));
        assert_eq!(ecn.is_agreed(), agreed, "{wanted:?} {flags}");
    }
}

#[test]
fn a_mark_is_echoed_until_the_peer_has_reduced() {
    let mut ecn = EcnState::new(Ecn::Answer);
    ecn.on_syn(&segment(Flags::SYN | Flags::ECE | Flags::CWR));
    let ack = segment(Flags::ACK);
    ecn.on_mark();
    assert_eq!(ecn.flags(&ack, false), Flags::ECE);
    assert_eq!(ecn.flags(&ack, false), Flags::ECE);
    ecn.on_segment(&segment(Flags::ACK | Flags::CWR));
    assert_eq!(ecn.flags(&ack, false), Flags::NONE);
}

#[test]
fn a_reduction_is_reported_once_with_new_data() {
    let mut ecn = EcnState::new(Ecn::Answer);
    ecn.on_syn(&segment(Flags::SYN | Flags::ECE | Flags::CWR));
    ecn.on_state(State::Open, State::Cwr);
    let data = segment(Flags::ACK);
    assert_eq!(ecn.flags(&data, false), Flags::NONE);
    assert_eq!(ecn.flags(&data, true), Flags::CWR);
    assert_eq!(ecn.flags(&data, true), Flags::NONE);
}
