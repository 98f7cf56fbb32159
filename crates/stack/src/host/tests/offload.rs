//! Hosts on devices that cut and sum: what they give, and what they take.

use super::*;
use crate::VnetHeader;
use recoup_wire::Checksum;

/// A packet and what is left to be done about it.
type Frame = (VnetHeader, Vec<u8>);

/// A device with offloads.
#[derive(Default)]
struct Offloading(Vec<Frame>);

impl Sink for Offloading {
    fn send(&mut self, packet: &[u8]) {
        self.0.push((VnetHeader::default(), packet.to_vec()));
    }

    fn offloads(&self) -> bool {
        true
    }

    fn send_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) {
        self.0.push((*header, packet.concat()));
    }
}

/// A client that sends on an open connection, and the server it sends to, with no delay between them.
struct Linked {
    now: Instant,
    client: Host,
    server: Host,
    id: ConnectionId,
    /// All the client sent.
    sent: Vec<Frame>,
}

/// Whether a frame of the client is lost.
type Lost<'a> = &'a mut dyn FnMut(&VnetHeader, &[u8]) -> bool;

impl Linked {
    fn new([client, server]: [&str; 2]) -> Self {
        let at = SocketAddr::new(server.parse().unwrap(), 80);
        let (mut client, mut server) = (host(client), host(server));
        server.listen(at).unwrap();
        let mut linked = Self {
            now: Instant::ZERO,
            id: client.connect(Instant::ZERO, at).unwrap(),
            client,
            server,
            sent: Vec::new(),
        };
        linked.exchange(&mut |_, _| false);
        assert_eq!(linked.client.state(linked.id), Some(recoup_tcp::State::Established));
        linked.sent.clear();
        linked
    }

    /// Sends a stream and reads it at the other end.
    fn transfer(&mut self, bytes: &[u8], lost: Lost<'_>) {
        let (mut written, mut received) = (0, Vec::new());
        let mut into = vec![0; 100_000];
        let theirs = self.server.next_event().expect("an event").connection;
        while received.len() < bytes.len() {
            assert!(self.now < Instant::from_millis(100_000));
            let rest = &bytes[written..];
            let taken = self.client.write(self.now, self.id, rest).unwrap();
            written += taken;
            self.exchange(lost);
            while let Read::Bytes(n) = self.server.read(self.now, theirs, &mut into).unwrap() {
                received.extend_from_slice(&into[..n]);
            }
            let deadlines = [self.client.next_timer(), self.server.next_timer()];
            if let Some(next) = deadlines.into_iter().flatten().min()
                && taken == 0
            {
                self.now = self.now.max(next);
                self.client.on_timer(self.now);
                self.server.on_timer(self.now);
            }
        }
        assert!(received == bytes);
    }

    /// Carries everything until neither side has anything to say.
    fn exchange(&mut self, lost: Lost<'_>) {
        let mut out = Offloading::default();
        loop {
            while self.client.poll_transmit(self.now, &mut out) {}
            let mut back = Offloading::default();
            while self.server.poll_transmit(self.now, &mut back) {}
            if out.0.is_empty() && back.0.is_empty() {
                return;
            }
            self.now += Duration::from_micros(10);
            for (header, packet) in back.0 {
                let mut at_once = Offloading::default();
                self.client.on_frame(self.now, &header, &packet, &mut at_once);
                out.0.extend(at_once.0);
            }
            let mut answers = Offloading::default();
            for (header, packet) in &out.0 {
                if !lost(header, packet) {
                    self.server.on_frame(self.now, header, packet, &mut answers);
                }
            }
            self.sent.append(&mut out.0);
            // Immediate answers travel next.
            for (header, packet) in answers.0 {
                self.client.on_frame(self.now, &header, &packet, &mut out);
            }
        }
    }
}

const VERSIONS: [[&str; 2]; 2] = [[CLIENT, SERVER], ["2001:db8::1", "2001:db8::2"]];

#[test]
fn trains_are_what_a_device_cuts_and_sums_into_the_segments_meant() {
    for (ends, headers, gso_type) in
        [(VERSIONS[0], 20, VnetHeader::GSO_TCPV4), (VERSIONS[1], 40, VnetHeader::GSO_TCPV6)]
    {
        let mut linked = Linked::new(ends);
        linked.transfer(&stream(1_000_000), &mut |_, _| false);
        let mss = 1500 - headers - 32;
        let mut longest = 0;
        for (header, packet) in &linked.sent {
            let decoded = decode(packet).unwrap();
            assert_eq!(decoded.tcp_checksum, Checksum::Offloaded);
            let payload = decoded.segment.payload_len;
            let expected = VnetHeader {
                flags: VnetHeader::NEEDS_CSUM,
                gso_type: if payload > mss { gso_type } else { 0 },
                hdr_len: headers as u16 + 32,
                gso_size: if payload > mss { mss as u16 } else { 0 },
                csum_start: headers as u16,
                csum_offset: 16,
            };
            assert_eq!(*header, expected, "{}", decoded.segment);
            let mut whole = packet.clone();
            header.complete(&mut whole);
            assert_eq!(decode(&whole).unwrap().tcp_checksum, Checksum::Correct);
            longest = longest.max(payload);
        }
        assert_eq!(longest, (65_535 - headers - 32) / mss * mss);
        let counters = linked.client.counters(linked.id).unwrap();
        assert!(counters.segments_sent >= 1_000_000 / u64::from(mss));
        assert!((linked.sent.len() as u64) < counters.segments_sent / 5);
    }
}

/// A device without offloads that takes packets in parts.
#[derive(Default)]
struct InParts(Vec<Vec<u8>>);

impl Sink for InParts {
    fn send(&mut self, packet: &[u8]) {
        self.0.push(packet.to_vec());
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn send_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) {
        assert_eq!(*header, VnetHeader::default(), "nothing is left to the device");
        self.0.push(packet.concat());
    }
}

#[test]
fn packets_in_parts_are_those_that_others_get_whole() {
    for addresses in [["192.0.2.1", "192.0.2.2"], ["2001:db8::1", "2001:db8::2"]] {
        let [whole, in_parts] = [false, true].map(|in_parts| {
            let mut linked = Linked::new(addresses);
            let (now, id) = (linked.now, linked.id);
            linked.client.write(now, id, &stream(9001)).unwrap();
            let mut packets = InParts::default();
            if in_parts {
                while linked.client.poll_transmit(now, &mut packets) {}
            } else {
                while linked.client.poll_transmit(now, &mut |packet: &[u8]| packets.send(packet)) {}
            }
            packets.0
        });
        assert!(whole.len() > 6);
        assert_eq!(whole, in_parts);
    }
}

#[test]
fn one_super_packet_is_acknowledged_once_and_at_once() {
    let mut linked = Linked::new(VERSIONS[0]);
    // Past the quick ACKs, so that single segments would wait for another.
    linked.transfer(&stream(400_000), &mut |_, _| false);
    let before = linked.server.stats().packets_out;
    let bytes = stream(10 * 1448);
    linked.client.write(linked.now, linked.id, &bytes).unwrap();
    linked.sent.clear();
    linked.exchange(&mut |_, _| false);
    let lengths: Vec<_> = linked.sent.iter().map(|(_, packet)| packet.len()).collect();
    assert_eq!(lengths, [52 + bytes.len()]);
    assert_eq!(linked.server.stats().packets_out, before + 1);
}

#[test]
fn what_is_sent_again_does_not_mix_with_what_is_new() {
    let mut linked = Linked::new(VERSIONS[0]);
    let mut count = 0;
    linked.transfer(&stream(1_000_000), &mut |header, _| {
        count += u32::from(header.gso_size > 0);
        header.gso_size > 0 && count % 7 == 3
    });
    let counters = linked.client.counters(linked.id).unwrap();
    assert!(counters.retransmissions.total() > 0);
    // No train goes across where new data began when it was sent.
    let mut highest: Option<SeqNumber> = None;
    for (_, packet) in &linked.sent {
        let segment = decode(packet).unwrap().segment;
        let (start, end) = (segment.seq, segment.seq + segment.payload_len);
        if let Some(highest) = highest.filter(|highest| start.before(*highest)) {
            assert!(!end.after(highest), "{segment} across {highest}");
        }
        highest = highest.filter(|highest| !end.after(*highest)).or(Some(end));
    }
}

#[test]
fn trains_are_cut_as_short_as_the_path_is_found_to_take() {
    const TAKES: u16 = 600;
    let mut linked = Linked::new(VERSIONS[0]);
    let mut told = None;
    // Frames that would be cut into longer packets are lost, and the path says so once.
    linked.client.write(linked.now, linked.id, &stream(50_000)).unwrap();
    linked.exchange(&mut |header, packet| {
        let lost = header.gso_size > TAKES - 52;
        if lost {
            told.get_or_insert_with(|| packet[..28].to_vec());
        }
        lost
    });
    let message = too_big(&told.expect("something too long"), TAKES);
    linked.client.on_packet(linked.now, &message, &mut Offloading::default());
    linked.sent.clear();
    let theirs = linked.server.next_event().expect("an event").connection;
    let (mut received, mut into) = (Vec::new(), vec![0; 100_000]);
    while received.len() < 50_000 {
        assert!(linked.now < Instant::from_millis(100_000));
        linked.now = linked.now.max(linked.client.next_timer().expect("a timer"));
        linked.client.on_timer(linked.now);
        linked.exchange(&mut |header, packet| {
            let len = match header.gso_size {
                0 => packet.len(),
                size => usize::from(header.hdr_len + size),
            };
            len > usize::from(TAKES)
        });
        while let Read::Bytes(n) = linked.server.read(linked.now, theirs, &mut into).unwrap() {
            received.extend_from_slice(&into[..n]);
        }
    }
    assert!(received == stream(50_000));
    assert!(linked.sent.iter().all(|(header, _)| header.gso_size <= TAKES - 52));
}

#[test]
fn headers_that_lie_do_no_harm() {
    let mut linked = Linked::new(VERSIONS[0]);
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let model = segment(9, 5, 7, Flags::ACK, &[3; 3000]);
    for round in 0..20_000 {
        let mut packet = model.clone();
        match round % 3 {
            0 => packet.truncate(draw(model.len())),
            1 => packet[draw(60)] = draw(256) as u8,
            _ => {}
        }
        let mut bytes = [0; crate::VNET_HEADER_LEN];
        bytes.fill_with(|| draw(256) as u8);
        bytes[0] = draw(4) as u8;
        bytes[1] = [0, 1, 4, 0x81, 0xff][draw(5)];
        let header = VnetHeader::from_bytes(bytes);
        let mut shown = packet.clone();
        header.complete(&mut shown);
        let mut out = Offloading::default();
        linked.server.on_frame(linked.now, &header, &packet, &mut out);
        while linked.server.next_event().is_some() {}
    }
    // A checksum nobody vouches for is looked at.
    let mut damaged = segment(9, 5, 7, Flags::SYN, b"");
    *damaged.last_mut().unwrap() ^= 1;
    let ignored = linked.server.stats().ignored;
    let header = VnetHeader::default();
    linked.server.on_frame(linked.now, &header, &damaged, &mut Offloading::default());
    assert_eq!(linked.server.stats().ignored, ignored + 1);
}
