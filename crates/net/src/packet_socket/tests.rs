//! Rings on interfaces in namespaces of their own. Where the system does not permit them, the tests are skipped.

mod groups;
mod namespaces;
mod receive;

use super::*;
use crate::{Namespace, NetError, netlink::Netlink};
use recoup_testing::skip;
use rustix::fs::{Mode, OFlags, open};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::{
    io::{Read as _, Write as _},
    thread,
    time::Instant as Time,
};

/// The names of the two connected interfaces, and their addresses.
const LEFT: (&str, [u8; 6]) = ("left", [2, 0, 0, 0, 0, 1]);
const RIGHT: (&str, [u8; 6]) = ("right", [2, 0, 0, 0, 0, 2]);
const LEFT_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const RIGHT_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// A local experiment (IEEE 802).
const EXPERIMENT: u16 = 0x88b5;

/// The time limit of each wait.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two connected interfaces, each in a namespace of its own.
struct Pair {
    left: Namespace,
    right: Namespace,
    /// The index of the left one.
    index: u32,
}

impl Pair {
    /// `None` if the system does not permit it.
    fn new() -> Option<Self> {
        match Self::make() {
            Ok(pair) => Some(pair),
            Err(e) => {
                skip(e);
                None
            }
        }
    }

    fn make() -> Result<Self, NetError> {
        let (left, right) = (Namespace::new()?, Namespace::new()?);
        let other = right.run(|| open("/proc/thread-self/ns/net", OFlags::RDONLY, Mode::empty()).unwrap())?;
        left.run(move || Netlink::open()?.add_veth([LEFT, RIGHT], Some(other.as_fd())))??;
        let bring_up = |name: &'static str, address: IpAddr| {
            move || {
                let mut netlink = Netlink::open()?;
                let index = netlink.index_of(name)?;
                netlink.bring_up(index, Some((1500, 1000)))?;
                netlink.add_address(index, address, 24)?;
                Ok::<_, NetError>(index)
            }
        };
        right.run(bring_up(RIGHT.0, RIGHT_IP))??;
        let index = left.run(bring_up(LEFT.0, LEFT_IP))??;
        Ok(Self { left, right, index })
    }

    /// The kernel's counts at the left interface: packets and bytes that it received and sent.
    fn counters(&self) -> [u64; 4] {
        let index = self.index;
        let stats = self.left.run(move || Netlink::open()?.counters(index)).unwrap().unwrap();
        [stats.rx_packets, stats.rx_bytes, stats.tx_packets, stats.tx_bytes]
    }

    fn ring(&self, options: &PacketSocketOptions) -> PacketRing {
        let options = options.clone();
        self.left.run(move || PacketRing::open(Some(LEFT.0), &options)).unwrap().unwrap()
    }

    /// Sends a frame to the left interface until it receives one. After the link came up, the kernel drops frames for a
    /// moment.
    fn send_until_received(&self, sender: &PacketRing) {
        let (before, end) = (self.counters(), Time::now() + PATIENCE);
        while self.counters() == before {
            assert!(Time::now() < end);
            // It fails while there is no link.
            let _ = sender.send(&frame(LEFT.1, EXPERIMENT, &[1; 50]));
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn right_ring(&self) -> PacketRing {
        self.right.run(|| PacketRing::open(Some(RIGHT.0), &PacketSocketOptions::default())).unwrap().unwrap()
    }

    /// Sends `count` bytes over TCP from the left to the right, and returns the ports of the client and of the server.
    fn transfer(&self, count: usize) -> (u16, u16) {
        let listener = self.right.run(|| TcpListener::bind((RIGHT_IP, 0)).unwrap()).unwrap();
        let at = listener.local_addr().unwrap();
        let client = self.left.run(move || TcpStream::connect(at).unwrap()).unwrap();
        let ports = (client.local_addr().unwrap().port(), at.port());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            received.len()
        });
        (&client).write_all(&vec![7; count]).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(server.join().unwrap(), count);
        // The server has closed, too: the last segment is the client's acknowledgement of that.
        assert_eq!((&client).read(&mut [0]).unwrap(), 0);
        ports
    }
}

/// An Ethernet frame from the right interface.
fn frame(to: [u8; 6], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&to, &RIGHT.1, &ether_type.to_be_bytes()[..], payload].concat()
}

/// An IPv4 packet without a checksum, which says protocol 253, for experiments (RFC 3692).
fn packet(payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet.extend(payload);
    packet
}

/// A frame of a ring, kept.
#[derive(Clone, Debug)]
struct Kept {
    interface: u32,
    link: LinkLayer,
    outgoing: Option<bool>,
    at: Instant,
    vlan: Option<VlanTag>,
    data: Vec<u8>,
    on_wire: usize,
}

impl From<RingFrame<'_>> for Kept {
    fn from(frame: RingFrame<'_>) -> Self {
        let RingFrame { interface, link, outgoing, at, vlan, data, on_wire } = frame;
        Self { interface, link, outgoing, at, vlan, data: data.to_vec(), on_wire }
    }
}

/// Reads frames until `is_enough`.
fn read_until(ring: &mut PacketRing, mut is_enough: impl FnMut(&[Kept]) -> bool) -> Vec<Kept> {
    let mut frames = Vec::new();
    let end = Time::now() + PATIENCE;
    while !is_enough(&frames) {
        assert!(Time::now() < end, "{} frames after {PATIENCE:?}: {frames:?}", frames.len());
        while ring.drain(|frame| frames.push(frame.into())) > 0 {}
        ring.wait(Duration::from_millis(20)).unwrap();
    }
    frames
}

/// The payload of an Ethernet frame of the local experiment.
fn experiment(frame: &Kept) -> Option<&[u8]> {
    (frame.data.get(12..14)? == EXPERIMENT.to_be_bytes()).then(|| &frame.data[14..])
}

/// Whether frames are in the order of time. Two processors may see frames within a moment and in the other order.
fn is_ordered<'a>(frames: impl IntoIterator<Item = &'a Kept>) -> bool {
    let mut latest = Instant::ZERO;
    frames.into_iter().all(|frame| {
        latest = latest.max(frame.at);
        latest.since(frame.at) < Duration::from_millis(1)
    })
}
