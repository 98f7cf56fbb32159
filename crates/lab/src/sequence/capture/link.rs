//! What is in front of the IP packet (link types: <https://www.tcpdump.org/linktypes.html>).

/// Link types, for messages.
pub(super) const KNOWN: &str = "Ethernet (1), raw IP (101, 12, 14, 228, 229), Linux cooked (113, 276) or BSD loopback (0, 108)";

/// Whether packets of this link type can be read.
pub(super) fn is_known(link: i32) -> bool {
    matches!(link, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// The IP packet within a link-layer frame, if there is one.
pub(super) fn ip_packet(link: i32, frame: &[u8]) -> Option<&[u8]> {
    match link {
        12 | 14 | 101 | 228 | 229 => Some(frame),
        1 => ethernet(frame.get(12..)?),
        // The protocol is at the end of the first kind's header, at the start of the second's.
        113 => of_type(word(frame, 14)?, frame.get(16..)?),
        276 => of_type(word(frame, 0)?, frame.get(20..)?),
        // Four bytes name the family, in numbers that differ by system; the packet tells itself.
        0 | 108 => {
            let packet = frame.get(4..)?;
            matches!(packet.first()? >> 4, 4 | 6).then_some(packet)
        }
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn of_type(ether_type: u16, packet: &[u8]) -> Option<&[u8]> {
    matches!(ether_type, IPV4 | IPV6).then_some(packet)
}

/// From the type field on, VLAN tags skipped (IEEE 802.1Q).
fn ethernet(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        match word(rest, 0)? {
            0x8100 | 0x88a8 | 0x9100 => rest = rest.get(4..)?,
            ether_type => return of_type(ether_type, rest.get(2..)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_is_found_behind_each_kind_of_header() {
        let ip = [0x45, 0, 0, 20];
        let cases: [(i32, &[u8], bool); 12] = [
            (101, &[], true),
            (1, &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0], true),
            (1, &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x86, 0xdd], true),
            (1, &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 6], false),
            (
                1,
                &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81, 0, 0, 7, 8, 0],
                true,
            ),
            (113, &[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], true),
            (
                276,
                &[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0],
                true,
            ),
            (
                276,
                &[8, 6, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0],
                false,
            ),
            (0, &[2, 0, 0, 0], true),
            (108, &[0, 0, 0, 2], true),
            (0, &[0, 0], false),
            (9, &[], false),
        ];
        for (link, header, found) in cases {
            let frame = [header, &ip].concat();
            let packet = ip_packet(link, &frame);
            assert_eq!(packet, found.then_some(&ip[..]), "{link} {header:?}");
            assert!(is_known(link) || !found, "{link}");
            // Cut anywhere, there is still no panic.
            for end in 0..frame.len() {
                ip_packet(link, &frame[..end]);
            }
        }
    }
}
