//! One ring: what it receives, and what it sends.

use super::*;
use crate::{Readiness, Tun};
use recoup_wire::bpf::{Assembler, code};
use std::net::UdpSocket;

#[test]
fn every_frame_of_a_transfer_is_received() {
    let Some(pair) = Pair::new() else { return };
    let before = pair.counters();
    let mut ring = pair.ring(&PacketSocketOptions { ethernet_filter: keep_all(96), ..Default::default() });
    let started = Time::now();
    pair.transfer(3_000_000);
    let mut seen = [0; 4];
    let frames = read_until(&mut ring, |frames| {
        seen = [false, true]
            .map(|outgoing| {
                let of = || frames.iter().filter(|frame| frame.outgoing.unwrap_or(false) == outgoing);
                [of().count() as u64, of().map(|frame| frame.on_wire as u64).sum()]
            })
            .concat()
            .try_into()
            .unwrap();
        let after = pair.counters();
        frames.len() > 50 && (0..4).all(|i| seen[i] == after[i] - before[i])
    });
    for frame in &frames {
        assert_eq!(frame.data.len(), frame.on_wire.min(96), "{frame:?}");
        assert_eq!((frame.interface, frame.link, frame.vlan), (pair.index, LinkLayer::Ethernet, None), "{frame:?}");
    }
    assert!(is_ordered(&frames));
    let span = frames[frames.len() - 1].at.since(frames[0].at);
    assert!(span > Duration::ZERO && span < started.elapsed(), "{span:?}");
    // Each frame that was received has the hardware addresses of its direction.
    let to = |outgoing| if outgoing { RIGHT.1 } else { LEFT.1 };
    let unicast = frames.iter().filter(|frame| frame.data[0] & 1 == 0);
    assert!(unicast.clone().count() > 50);
    unicast.for_each(|frame| assert_eq!(frame.data[..6], to(frame.outgoing.unwrap()), "{frame:?}"));
    let statistics = ring.take_statistics().unwrap();
    assert_eq!(statistics, RingStatistics { frames: frames.len() as u64, ..Default::default() });
    assert_eq!(ring.take_statistics().unwrap(), RingStatistics::default());
}

/// Keeps 60 bytes of TCP over IPv4.
fn tcp_only() -> Vec<Instruction> {
    let mut program = Assembler::default();
    let [ip, tcp, drop] = [(); 3].map(|()| program.label());
    program.push(code::LOAD_HALF, 12);
    program.branch(code::IF_EQUAL, 0x0800, ip, drop);
    program.place(ip);
    program.push(code::LOAD_BYTE, 23);
    program.branch(code::IF_EQUAL, 6, tcp, drop);
    program.place(tcp);
    program.push(code::RETURN, 60);
    program.place(drop);
    program.push(code::RETURN, 0);
    program.finish().unwrap()
}

#[test]
fn the_filter_holds_from_the_first_frame() {
    let Some(pair) = Pair::new() else { return };
    // Frames come all the time, also while the ring is opened.
    let sender = pair.right_ring();
    let end = Time::now() + Duration::from_millis(300);
    let noise = thread::spawn(move || {
        while Time::now() < end {
            sender.send(&frame(LEFT.1, EXPERIMENT, &[1; 60])).unwrap();
        }
    });
    thread::sleep(Duration::from_millis(50));
    let mut ring = pair.ring(&PacketSocketOptions { ethernet_filter: tcp_only(), ..Default::default() });
    pair.transfer(10_000);
    noise.join().unwrap();
    let frames = read_until(&mut ring, |frames| frames.iter().any(|frame| frame.data[47] & 1 == 1));
    assert!(frames.iter().all(|frame| frame.data.len() == 60 && frame.data[23] == 6), "{frames:?}");
    assert!(frames.len() >= 8, "{frames:?}");
}

#[test]
fn a_vlan_tag_is_beside_the_frame() {
    let Some(pair) = Pair::new() else { return };
    let mut ring = pair.ring(&PacketSocketOptions::default());
    let sender = pair.right_ring();
    let tagged = |control: u16| [&control.to_be_bytes(), &EXPERIMENT.to_be_bytes(), &[1; 50][..]].concat();
    sender.send(&frame(LEFT.1, EXPERIMENT, &[1; 50])).unwrap();
    sender.send(&frame(LEFT.1, 0x8100, &tagged(5 << 13 | 42))).unwrap();
    sender.send(&frame(LEFT.1, 0x88a8, &tagged(43))).unwrap();
    let frames = read_until(&mut ring, |frames| frames.len() == 3);
    let tags: Vec<_> = frames.iter().map(|frame| frame.vlan).collect();
    let tag = |protocol, control| Some(VlanTag { protocol, control });
    assert_eq!(tags, [None, tag(0x8100, 5 << 13 | 42), tag(0x88a8, 43)]);
    assert_eq!(tags[1].unwrap().id(), 42);
    for frame in &frames {
        assert_eq!((experiment(frame), frame.on_wire), (Some(&[1; 50][..]), 64), "{frame:?}");
    }
}

#[test]
fn frames_beyond_the_ring_are_counted_as_dropped() {
    const SENT: usize = 2000;
    let Some(pair) = Pair::new() else { return };
    let options = PacketSocketOptions { ethernet_filter: keep_all(65_535), ring_bytes: 1, ..Default::default() };
    let mut ring = pair.ring(&options);
    let sender = pair.right_ring();
    for _ in 0..SENT {
        sender.send(&frame(LEFT.1, EXPERIMENT, &[1; 1400])).unwrap();
    }
    thread::sleep(Duration::from_millis(50));
    let statistics = ring.take_statistics().unwrap();
    let kept = statistics.frames - statistics.dropped;
    assert!(statistics.frames == SENT as u64 && statistics.times_full >= 1, "{statistics:?}");
    // 512 KiB hold 350 of them; fewer if the sender is so slow that the kernel hands over blocks before they are full.
    assert!((1..370).contains(&kept), "{statistics:?}");
    assert_eq!(read_until(&mut ring, |frames| frames.len() as u64 >= kept).len() as u64, kept);
    // It goes on with the next frame.
    sender.send(&frame(LEFT.1, EXPERIMENT, &[2; 1400])).unwrap();
    let next = read_until(&mut ring, |frames| !frames.is_empty());
    assert_eq!(experiment(&next[0]), Some(&[2; 1400][..]));
}

#[test]
fn a_link_that_goes_down_is_reported_and_comes_back() {
    let Some(pair) = Pair::new() else { return };
    let mut ring = pair.ring(&PacketSocketOptions::default());
    let sender = pair.right_ring();
    let index = pair.index;
    assert_eq!(ring.wait(Duration::from_millis(20)).unwrap(), Readiness::Nothing);
    pair.left.run(move || Netlink::open()?.bring_down(index)).unwrap().unwrap();
    assert_eq!(ring.wait(PATIENCE).unwrap(), Readiness::Down);
    assert_eq!(ring.wait(Duration::from_millis(20)).unwrap(), Readiness::Nothing);
    // A ring that is opened then says so, too.
    let mut other = pair.ring(&PacketSocketOptions::default());
    assert_eq!(other.wait(PATIENCE).unwrap(), Readiness::Down);
    pair.left.run(move || Netlink::open()?.bring_up(index, None)).unwrap().unwrap();
    pair.send_until_received(&sender);
    for ring in [&mut ring, &mut other] {
        read_until(ring, |frames| frames.iter().any(|frame| experiment(frame).is_some()));
    }
}

#[test]
fn all_interfaces_give_packets_with_the_index_of_each() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => return skip(e),
    };
    let indexes = namespace.run(|| {
        let mut netlink = Netlink::open()?;
        netlink.add_veth([LEFT, RIGHT], None)?;
        [LEFT.0, RIGHT.0]
            .map(|name| {
                let index = netlink.index_of(name)?;
                netlink.bring_up(index, Some((1500, 1000)))?;
                Ok::<_, NetError>(index)
            })
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
    });
    let indexes = match indexes.unwrap() {
        Ok(indexes) => indexes,
        Err(e) => return skip(e),
    };
    let open = |name| move || PacketRing::open(name, &PacketSocketOptions::default());
    let mut ring = namespace.run(open(None)).unwrap().unwrap();
    let sender = namespace.run(open(Some(RIGHT.0))).unwrap().unwrap();
    let carried = packet(b"experiment");
    sender.send(&frame(LEFT.1, 0x0800, &carried)).unwrap();
    let is_ours = |frame: &&Kept| frame.data == carried;
    let frames = read_until(&mut ring, |frames| frames.iter().filter(is_ours).count() == 2);
    let found: Vec<_> = frames.iter().filter(is_ours).map(|f| (f.interface, f.outgoing, f.link, f.on_wire)).collect();
    let link = LinkLayer::Network(0x0800);
    assert_eq!(found, [(indexes[1], Some(true), link, 30), (indexes[0], Some(false), link, 30)]);
    assert_eq!((ring.name_of(indexes[0]).as_deref(), ring.name_of(999)), (Some(LEFT.0), None));
    assert_eq!((ring.index(), ring.interface()), (0, None));
    assert_eq!(ring.send(&carried).unwrap_err().kind(), std::io::ErrorKind::Unsupported);
}

#[test]
fn a_loopback_interface_gives_each_packet_once() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => return skip(e),
    };
    for name in [Some("lo"), None] {
        let ring = namespace.run(move || PacketRing::open(name, &PacketSocketOptions::default())).unwrap();
        let mut ring = match ring {
            Ok(ring) => ring,
            Err(e) => return skip(e),
        };
        let socket = namespace.run(|| UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
        let to = socket.local_addr().unwrap();
        for number in 0..100_u8 {
            socket.send_to(&[number; 9], to).unwrap();
        }
        let frames = read_until(&mut ring, |frames| frames.len() >= 100);
        thread::sleep(2 * ring.block_timeout());
        assert_eq!(ring.drain(|_| {}), 0);
        let numbers: Vec<_> = frames.iter().filter_map(|frame| frame.data.last().copied()).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert!(frames.iter().all(|frame| frame.outgoing.is_none()), "{frames:?}");
        let link = name.map_or(LinkLayer::Network(0x0800), |_| LinkLayer::Ethernet);
        assert!(frames.iter().all(|frame| frame.link == link), "{frames:?}");
    }
}

#[test]
fn an_interface_without_ethernet_gives_and_takes_packets() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => return skip(e),
    };
    let made = namespace.run(|| {
        let tun = Tun::create("tun0")?;
        tun.bring_up(&mut Netlink::open()?, 1500)?;
        let ring = PacketRing::open(Some("tun0"), &PacketSocketOptions::default())?;
        Ok::<_, NetError>((tun, ring))
    });
    let (tun, mut ring) = match made.unwrap() {
        Ok(made) => made,
        Err(e) => return skip(e),
    };
    assert_eq!(ring.framing(), Framing::Network);
    let carried = packet(b"received");
    tun.write(&carried).unwrap();
    let frames = read_until(&mut ring, |frames| !frames.is_empty());
    assert_eq!((frames[0].data.as_slice(), frames[0].link), (&carried[..], LinkLayer::Network(0x0800)));
    assert_eq!((frames[0].on_wire, frames[0].outgoing), (28, Some(false)));

    let carried = packet(b"sent");
    ring.send(&carried).unwrap();
    let mut buffer = [0; 100];
    let (end, mut read) = (Time::now() + PATIENCE, None);
    while read.is_none() && Time::now() < end {
        read = tun.read(&mut buffer).unwrap();
    }
    assert_eq!(read.map(|length| &buffer[..length]), Some(&carried[..]));
    assert_eq!(ring.send(&[0; 20]).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
