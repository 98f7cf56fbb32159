use super::*;

#[test]
fn headers_count_from_the_link_header_or_without() {
    let packet = VnetHeader {
        flags: VnetHeader::NEEDS_CSUM,
        gso_type: VnetHeader::GSO_TCPV4,
        hdr_len: 52,
        gso_size: 1448,
        csum_start: 20,
        csum_offset: 16,
    };
    let frame = VnetHeader { hdr_len: 66, csum_start: 34, ..packet };
    assert_eq!(with_link_header(packet), frame);
    assert_eq!(without_link_header(frame), packet);
    assert_eq!(with_link_header(VnetHeader::default()), VnetHeader::default());
    assert_eq!(without_link_header(VnetHeader::default()), VnetHeader::default());
}

#[test]
fn packets_have_addresses_or_are_none() {
    let mut v4 = vec![0x45; 20];
    v4[12..].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
    assert_eq!(addresses(&v4), Some(([192, 0, 2, 1].into(), [192, 0, 2, 2].into())));
    assert_eq!(addresses(&v4[..19]), None);
    let mut v6 = vec![0x60; 40];
    v6[8..40].copy_from_slice(&[[1_u8; 16], [2; 16]].concat());
    assert_eq!(addresses(&v6), Some(([1; 16].into(), [2; 16].into())));
    assert_eq!(addresses(&v6[..39]), None);
    assert_eq!(addresses(&[0x55; 60]), None);
    assert_eq!(addresses(&[]), None);
}
