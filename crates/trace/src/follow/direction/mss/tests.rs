use super::*;

#[test]
fn without_a_handshake_payloads_give_the_mss() {
    // (payloads, MSS)
    let cases: [(&[u32], u32); 8] = [
        (&[], 1),
        (&[100, 1400, 900], 1400),
        (&[517, 1448, 14_480, 28_960, 2896], 1448),
        (&[8688, 8688, 8688, 8688, 8688, 1448], 1448),
        (&[7140, 14_280, 21_420, 1428, 300], 1448),
        (&[1400, 2800, 5600], 1400),
        (&[517, 8948, 8948, 8948, 8948, 17_896], 8948),
        (&[1448, 8948, 2896, 8948, 8948, 4344, 8948], 1448),
    ];
    for (payloads, expected) in cases {
        let mut mss = Mss::default();
        payloads.iter().for_each(|&len| mss.on_payload(len));
        assert_eq!(mss.bytes(), expected, "{payloads:?}");
    }
}

#[test]
fn a_payload_as_long_as_the_peer_accepts_is_one_segment() {
    let mut mss = Mss::default();
    mss.agree(Some(1240), 1460, true);
    for (payload, expected) in [(2456, 1228), (1228, 1228), (1448, 1448), (14_480, 1448)] {
        mss.on_payload(payload);
        assert_eq!(mss.bytes(), expected, "{payload}");
    }
}

#[test]
fn the_handshake_gives_the_smaller_mss_less_timestamps() {
    for (own, peer, timestamps, expected) in [
        (Some(1460), 1460, true, 1448),
        (Some(1460), 1460, false, 1460),
        (Some(1460), 8960, true, 1448),
        (Some(8960), 1460, true, 1448),
        (None, 8960, true, 8948),
        (Some(0), 5, true, 1),
    ] {
        let mut mss = Mss::default();
        mss.agree(own, peer, timestamps);
        mss.on_payload(64_000);
        assert_eq!(mss.bytes(), expected, "{own:?} {peer}");
    }
}
