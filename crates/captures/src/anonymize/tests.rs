use super::*;
use crate::capture::Unwatched;
use made::{captures, classic, ethernet, fast_open, frames, segment};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use proptest::prelude::*;
use recoup_trace::read::{CapturedPacket, Counts, PacketSource, Reader, Reason};
use recoup_wire::{Checksum, decode};
use std::net::{IpAddr, SocketAddr};

mod made;

fn map() -> AddressMap {
    AddressMap::new(&Key::of_secret(&[7; 16]).expect("long enough"))
}

fn anonymized_by(file: &[u8], payload: PayloadMode) -> Result<(Vec<u8>, Anonymized), RewriteError> {
    let reader = RawReader::new("x", file)?;
    let mut out = Vec::new();
    let found = anonymize(reader, &mut map(), payload, &mut out, &Unwatched)?;
    Ok((out, found))
}

fn anonymized(file: &[u8]) -> (Vec<u8>, Anonymized) {
    anonymized_by(file, PayloadMode::Cut).expect("a capture")
}

/// All segments and messages of a capture, and its counts.
fn read(file: &[u8]) -> (Vec<CapturedPacket>, Counts) {
    let mut reader = Reader::new("x", file).expect("a capture");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_or_message() {
        packets.push(*packet);
    }
    (packets, reader.stop().expect("a known link type"))
}

/// A packet with its addresses mapped, and without digests of addresses.
fn mapped(packet: &CapturedPacket, map: Option<&mut AddressMap>) -> CapturedPacket {
    let mut packet = CapturedPacket { link: 0, tunnel: Default::default(), ..*packet };
    if let Some(map) = map {
        let mut of = |end: SocketAddr| SocketAddr::new(map.ip(end.ip()), end.port());
        packet.endpoints.src = of(packet.endpoints.src);
        packet.endpoints.dst = of(packet.endpoints.dst);
    }
    packet
}

/// Asserts that the second capture is read as the first one, but for the names.
#[track_caller]
fn assert_reads_as(before: &[u8], after: &[u8]) {
    let ((before, counts), (after, counts_after)) = (read(before), read(after));
    let mut map = map();
    let expected: Vec<CapturedPacket> = before.iter().map(|packet| mapped(packet, Some(&mut map))).collect();
    let found: Vec<CapturedPacket> = after.iter().map(|packet| mapped(packet, None)).collect();
    assert_eq!(found, expected);
    let tunnels = |packets: &[CapturedPacket]| packets.iter().map(|p| p.tunnel.kind()).collect::<Vec<_>>();
    assert_eq!(tunnels(&after), tunnels(&before));
    let links = |packets: &[CapturedPacket]| packets.iter().map(|p| p.link == 0).collect::<Vec<_>>();
    assert_eq!(links(&after), links(&before));
    assert_eq!(counts_after.frames, counts.frames);
    for reason in Reason::ALL {
        assert_eq!(counts_after.skipped(reason), counts.skipped(reason), "{reason}");
    }
}

#[test]
fn a_capture_is_read_as_before_but_for_the_names() {
    for (i, file) in captures().iter().enumerate() {
        for payload in [PayloadMode::Cut, PayloadMode::Zero] {
            let (out, found) = anonymized_by(file, payload).expect("a capture");
            assert_reads_as(file, &out);
            assert_eq!((found.given_up, &found.ending), (0, &Ending::Whole), "capture {i}, {payload:?}");
            assert_eq!(out[..4], [&[0x4d, 0x3c, 0xb2, 0xa1], &[0x0a, 0x0d, 0x0d, 0x0a]][usize::from(i == 1)][..]);
        }
    }
}

/// What the originals hold and must not be left.
fn secrets() -> Vec<Vec<u8>> {
    let mut secrets: Vec<Vec<u8>> = addresses().iter().map(bytes_of).collect();
    secrets.extend(made::MACS.map(Vec::from));
    secrets.extend(made::SECRET.windows(6).map(Vec::from));
    secrets.extend(made::NAME.as_bytes().windows(6).map(Vec::from));
    secrets.extend([&b"comment"[..], b"eth0", &[0xc0, 0x0c, 0x1e], &[0xde, 0xad, 0xbe, 0xef]].map(Vec::from));
    secrets
}

fn addresses() -> Vec<IpAddr> {
    let ends = [made::V4, made::V6].into_iter().flatten();
    let ends = ends.map(|end| end.parse::<SocketAddr>().expect("an end").ip());
    ends.chain(made::OUTER.map(IpAddr::from)).collect()
}

fn bytes_of(ip: &IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

#[test]
fn no_address_payload_or_name_is_left() {
    let has = |file: &[u8], secret: &[u8]| file.windows(secret.len()).any(|part| part == secret);
    let originals = captures().concat();
    for secret in secrets() {
        assert!(has(&originals, &secret), "not there at all: {secret:02x?}");
    }
    // Addresses in the other byte order and as text, too.
    let forms = addresses().into_iter().flat_map(|ip| {
        let reversed = bytes_of(&ip).into_iter().rev().collect();
        [reversed, ip.to_string().into_bytes()]
    });
    let secrets: Vec<Vec<u8>> = secrets().into_iter().chain(forms).collect();
    for file in captures() {
        for payload in [PayloadMode::Cut, PayloadMode::Zero] {
            let (out, _) = anonymized_by(&file, payload).expect("a capture");
            for secret in &secrets {
                assert!(!has(&out, secret), "{secret:02x?}, {}", String::from_utf8_lossy(secret));
            }
        }
    }
}

/// The frames of a classic capture.
fn frames_of(file: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(file).expect("a capture");
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_packet() {
        frames.push(frame.expect("a frame").data.into_owned());
    }
    frames
}

#[test]
fn checksums_are_right_or_wrong_as_before() {
    let mut offloaded = segment(made::V4, 1);
    let partial = {
        let sum = decode(&offloaded).expect("a segment").endpoints;
        !recoup_wire::pseudo_header(sum.src.ip(), sum.dst.ip(), offloaded.len() - 20, 6).checksum()
    };
    offloaded[36..38].copy_from_slice(&partial.to_be_bytes());
    let mut wrong = segment(made::V4, 2);
    wrong[36] ^= 0x77;
    let mut wrong_ip = segment(made::V4, 3);
    wrong_ip[10] ^= 0x77;
    let packets = [segment(made::V4, 0), segment(made::V6, 0), fast_open(), offloaded, wrong, wrong_ip];
    let (out, _) = anonymized_by(&classic(DataLink::RAW, &packets), PayloadMode::Zero).expect("a capture");
    let states = |packet: &Vec<u8>| {
        let decoded = decode(packet).expect("a segment");
        (decoded.tcp_checksum, decoded.ip_checksum_ok)
    };
    let before: Vec<_> = packets.iter().map(states).collect();
    use Checksum::{Correct, Offloaded, Wrong};
    let expected =
        [(Correct, true), (Correct, true), (Correct, true), (Offloaded, true), (Wrong, true), (Correct, false)];
    assert_eq!(before, expected);
    assert_eq!(frames_of(&out).iter().map(states).collect::<Vec<_>>(), expected);
}

/// UDP around a tunnel, and ICMP around a quoted segment.
#[test]
fn outer_checksums_cover_the_new_headers() {
    let all = frames();
    let packets: Vec<Vec<u8>> = [4, 5, 10].map(|i: usize| all[i].clone()).to_vec();
    let (out, _) = anonymized_by(&classic(DataLink::ETHERNET, &packets), PayloadMode::Zero).expect("a capture");
    for frame in frames_of(&out) {
        let ip = &frame[14..];
        let (protocol, carried) = (ip[9], &ip[20..]);
        let address = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).expect("four bytes"));
        let pseudo = match protocol {
            17 => recoup_wire::pseudo_header(address(12), address(16), carried.len(), 17),
            _ => recoup_wire::Sum::default(),
        };
        assert_eq!(pseudo.plus(carried).checksum(), 0, "protocol {protocol}");
        assert_eq!(recoup_wire::Sum::default().plus(&ip[..20]).checksum(), 0);
    }
}

#[test]
fn frames_end_with_the_tcp_header_or_keep_their_length() {
    let file = classic(DataLink::ETHERNET, &frames()[1..2]);
    let (cut, _) = anonymized(&file);
    assert_eq!(frames_of(&cut)[0].len(), 14 + 20 + 32);
    let (zero, _) = anonymized_by(&file, PayloadMode::Zero).expect("a capture");
    let frame = &frames_of(&zero)[0];
    assert_eq!(frame.len(), frames()[1].len());
    assert!(frame[66..].iter().all(|byte| *byte == 0));
}

/// Zeros that an IP header counts as payload are padding, and a few bytes of payload must not become zeros.
#[test]
fn padding_stays_padding_and_payload_stays_payload() {
    let short = |payload: &[u8]| {
        let mut packet = segment(made::V4, 0)[..40].to_vec();
        packet[32] = 0x50;
        packet[33] = 0x10;
        packet[3] = 40 + payload.len() as u8;
        packet.extend(payload);
        ethernet(&[8, 0], &packet)
    };
    let file = classic(DataLink::ETHERNET, &[short(&[0; 6]), short(&[1, 2, 3]), short(&[9])]);
    let lengths = |file: &[u8]| read(file).0.iter().map(|p| p.segment.payload_len).collect::<Vec<_>>();
    assert_eq!(lengths(&file), [0, 3, 1]);
    for payload in [PayloadMode::Cut, PayloadMode::Zero] {
        let (out, found) = anonymized_by(&file, payload).expect("a capture");
        assert_eq!((lengths(&out), found.given_up), (vec![0, 3, 1], 0), "{payload:?}");
    }
}

#[test]
fn a_cut_capture_keeps_what_is_whole() {
    let file = classic(DataLink::ETHERNET, &frames());
    let (_, whole) = anonymized(&file);
    let (out, found) = anonymized(&file[..file.len() - 3]);
    assert!(matches!(found.ending, Ending::Cut { .. }));
    assert_eq!(found.segments, whole.segments - 1);
    assert_eq!(read(&out).1.ending, Ending::Whole);
    // Without a known link type, there is nothing to write.
    let error = anonymized_by(&classic(DataLink::USER0, &frames()), PayloadMode::Cut).expect_err("no packets");
    assert!(error.to_string().starts_with("x: link type 147: expected "), "{error}");
}

proptest! {
    /// Changes, removes and inserts bytes: nothing panics, each frame has its record, and what is written reads as the
    /// original but for names and for what was given up.
    #[test]
    fn damage_never_panics_and_every_frame_has_its_record(
        which in 0..4_usize,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..8),
        zero: bool,
    ) {
        let mut file = captures().swap_remove(which);
        for (at, value, how) in edits {
            let at = at.index(file.len());
            match how {
                0 => file[at] = value,
                1 => file.insert(at, value),
                _ => drop(file.remove(at)),
            }
        }
        let payload = if zero { PayloadMode::Zero } else { PayloadMode::Cut };
        if let Ok((out, found)) = anonymized_by(&file, payload) {
            let ((before, counts), (after, counts_after)) = (read(&file), read(&out));
            prop_assert_eq!(counts_after.frames, counts.frames);
            prop_assert_eq!(counts_after.ending, Ending::Whole);
            prop_assert_eq!(after.len() as u64 + found.given_up, before.len() as u64);
            if found.given_up == 0 {
                let mut map = map();
                for (before, after) in before.iter().zip(&after) {
                    prop_assert_eq!(mapped(after, None), mapped(before, Some(&mut map)));
                }
            }
        }
    }
}
