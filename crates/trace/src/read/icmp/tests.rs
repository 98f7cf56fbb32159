use super::*;

/// An ICMPv4 message with this type, code and MTU about a segment from port 80 to 5000.
fn v4(kind: u8, code: u8, mtu: u16, protocol: u8) -> Vec<u8> {
    let mut ip = vec![0_u8; 20];
    (ip[0], ip[9]) = (0x45, ICMP_V4);
    ip.extend([kind, code, 0, 0, 0, 0]);
    ip.extend(mtu.to_be_bytes());
    let mut quoted = vec![0_u8; 20];
    (quoted[0], quoted[9]) = (0x45, protocol);
    quoted[12..16].copy_from_slice(&[192, 0, 2, 1]);
    quoted[16..20].copy_from_slice(&[198, 51, 100, 2]);
    ip.extend(quoted);
    ip.extend([0, 80, 0x13, 0x88, 1, 2, 3, 4]);
    ip
}

#[test]
fn a_message_names_the_segment_and_the_mtu() {
    let found = too_big(&v4(3, 4, 1280, TCP)).unwrap();
    assert_eq!(found.endpoints.src.to_string(), "192.0.2.1:80");
    assert_eq!(found.endpoints.dst.to_string(), "198.51.100.2:5000");
    assert_eq!((found.seq, found.mtu), (SeqNumber(0x0102_0304), 1280));

    let mut ip = vec![0_u8; V6_HEADER];
    (ip[0], ip[6]) = (0x60, ICMP_V6);
    ip.extend([2, 0, 0, 0, 0, 0, 5, 0]);
    let mut quoted = vec![0_u8; V6_HEADER];
    (quoted[0], quoted[6], quoted[23], quoted[39]) = (0x60, TCP, 1, 2);
    ip.extend(quoted);
    ip.extend([0, 80, 0x13, 0x88, 1, 2, 3, 4]);
    let found = too_big(&ip).unwrap();
    assert_eq!(found.endpoints.src.to_string(), "[::1]:80");
    assert_eq!(found.endpoints.dst.to_string(), "[::2]:5000");
    assert_eq!(found.mtu, 1280);
}

#[test]
fn other_messages_and_cut_ones_name_nothing() {
    for message in [v4(3, 3, 1280, TCP), v4(8, 0, 0, TCP), v4(3, 4, 0, TCP), v4(3, 4, 1280, 17)] {
        assert_eq!(too_big(&message), None);
    }
    let whole = v4(3, 4, 1280, TCP);
    for len in 0..whole.len() {
        assert_eq!(too_big(&whole[..len]), None, "{len}");
    }
}

/// What begins a later fragment is no header of a message, whatever it looks like.
#[test]
fn later_fragments_name_nothing() {
    let mut message = v4(3, 4, 1280, TCP);
    // More fragments follow: it is the first one.
    message[6] = 0x20;
    assert!(too_big(&message).is_some());
    message[7] = 1;
    assert_eq!(too_big(&message), None);
}
