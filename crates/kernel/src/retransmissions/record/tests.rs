use super::*;

/// A record as the C program lays it out.
fn bytes(local: [u8; 16], remote: [u8; 16], is_ipv6: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(7_000_000_001_u64.to_ne_bytes());
    bytes.extend(local);
    bytes.extend(remote);
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(999_u32.to_ne_bytes());
    bytes.extend((-105_i32).to_ne_bytes());
    bytes.extend(443_u16.to_ne_bytes());
    bytes.extend(50_000_u16.to_ne_bytes());
    bytes.extend([is_ipv6, 0x18, 3, 5, 1, 0, 1, 0]);
    bytes
}

fn v4(address: [u8; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&address);
    bytes
}

/// State that says nothing, for tests of reasons.
pub fn plain() -> Record {
    let zeros = vec![0; bytes(v4([0; 4]), v4([0; 4]), 0).len()];
    Record::read(&zeros).unwrap()
}

#[test]
fn a_record_has_its_fields_where_the_kernel_writes_them() {
    let record = Record::read(&bytes(v4([192, 0, 2, 1]), v4([198, 51, 100, 2]), 0)).unwrap();
    let expected = Record {
        at: 7_000_000_001,
        local: "192.0.2.1:443".parse().unwrap(),
        remote: "198.51.100.2:50000".parse().unwrap(),
        seq: SeqNumber(u32::MAX),
        end: SeqNumber(999),
        error: -105,
        tcp_flags: 0x18,
        ca_state: 3,
        pending: 5,
        marked_lost: true,
        timer_expired: false,
        after_timeout: true,
        can_undo: false,
    };
    assert_eq!(record, expected);
}

#[test]
fn ipv4_in_an_ipv6_socket_is_ipv4() {
    let local: Ipv6Addr = "::ffff:192.0.2.1".parse().unwrap();
    let remote: Ipv6Addr = "2001:db8::2".parse().unwrap();
    let record = Record::read(&bytes(local.octets(), remote.octets(), 1)).unwrap();
    assert_eq!(record.local.to_string(), "192.0.2.1:443");
    assert_eq!(record.remote.to_string(), "[2001:db8::2]:50000");
}

#[test]
fn a_record_that_is_cut_is_none() {
    let whole = bytes(v4([1; 4]), v4([2; 4]), 0);
    assert!((0..whole.len()).all(|len| Record::read(&whole[..len]).is_none()));
}
