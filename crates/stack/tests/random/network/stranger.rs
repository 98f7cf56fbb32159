//! One host with listeners, sockets and connections in all states, and packets of any kind to it.
//!
//! Nothing panics, memory stays within its bound, and a host whose applications write nothing answers a packet by one of
//! about its size at most.

use super::{
    Duration, Instant,
    choices::Choices,
    forge::PORTS,
    listen,
    packets::Places,
    path::addresses,
    settings::{config, mtu},
};
use recoup_stack::host::{ConnectionId, DatagramId, Host, ListenerId, Read, Secret, Sink};
use recoup_wire::{Flags, Options, Payload, Segment, SeqNumber, Timestamps, decode, encode};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Numbers and ports kept of what the host sent.
const KEPT: usize = 24;

/// The host, and what is known of it.
struct Target {
    now: Instant,
    host: Host,
    mtu: u16,
    listeners: Vec<ListenerId>,
    connections: Vec<ConnectionId>,
    sockets: Vec<DatagramId>,
    numbers: Vec<u32>,
    ports: Vec<u16>,
    others: [IpAddr; 4],
    sent: Sent,
}

/// Takes what the host sends.
#[derive(Debug, Default)]
struct Sent {
    packets: Vec<Vec<u8>>,
    mtu: usize,
}

impl Sink for Sent {
    fn send(&mut self, packet: &[u8]) {
        assert!(packet.len() <= self.mtu, "a packet of {} bytes, MTU {}", packet.len(), self.mtu);
        self.packets.push(packet.to_vec());
    }
}

/// A host meets packets as the choices say.
pub fn meet(choices: &mut Choices<'_>, most: usize) {
    let mut target = Target::new(choices);
    for _ in 0..most {
        if choices.is_over() {
            break;
        }
        target.act(choices);
    }
    target.finish();
}

impl Target {
    fn new(choices: &mut Choices<'_>) -> Self {
        let mtu = mtu(choices);
        let mut config = config(choices, addresses(0));
        config.every_address = choices.chance(40);
        config.answer_any_echo = choices.chance(128);
        let mut host = Host::new(config, mtu, Secret::from_key([1; 16]));
        let mut listeners = listen(&mut host, 0, choices);
        if choices.chance(60) {
            let options = host.config().tcp;
            listeners.extend(host.listen_any(&options));
        }
        let mut sockets = vec![host.ping_open().expect("a free identifier")];
        let unspecified: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        for ip in unspecified {
            sockets.push(host.udp_bind(SocketAddr::new(ip, PORTS[3])).expect("a free port"));
        }
        if choices.chance(60) {
            sockets.extend(host.udp_bind_any());
        }
        if choices.chance(60) {
            host.set_raw(Some(10_000));
        }
        let [v4, v6] = addresses(1);
        Self {
            now: Instant::from_millis(1),
            host,
            mtu,
            listeners,
            connections: Vec::new(),
            sockets,
            numbers: Vec::new(),
            ports: PORTS.to_vec(),
            others: [v4, v6, Ipv4Addr::new(203, 0, 113, 9).into(), addresses(0)[0]],
            sent: Sent { packets: Vec::new(), mtu: mtu.into() },
        }
    }

    fn act(&mut self, choices: &mut Choices<'_>) {
        match choices.below(10) {
            0..=5 => self.meet(choices),
            6 => self.open(choices),
            7 => self.use_sockets(choices),
            _ => self.wait(Duration::from_millis(choices.one(&[10, 1, 300, 5000, 40_000]))),
        }
        self.look();
    }

    /// A packet arrives. Only what it causes at once is an answer to it.
    fn meet(&mut self, choices: &mut Choices<'_>) {
        let places = Places { host: addresses(0), others: &self.others, ports: &self.ports, numbers: &self.numbers };
        let packets = places.strange(choices);
        self.look();
        let idle = self.connections.is_empty();
        let mut bytes = 0;
        for packet in &packets {
            bytes += packet.len();
            self.host.on_packet(self.now, packet, &mut self.sent);
        }
        while self.host.poll_transmit(self.now, &mut self.sent) {}
        let answers = self.sent.packets.len();
        let answered: usize = self.sent.packets.iter().map(Vec::len).sum();
        // An echo may leave in more fragments than it came in.
        let pieces = packets.len() + bytes / 500;
        assert!(!idle || answers <= pieces, "{answers} answers to {} packets: {packets:02x?}", packets.len());
        assert!(!idle || answered <= 2 * bytes + 100 * pieces, "{answered} bytes to {bytes}: {packets:02x?}");
    }

    /// A connection opens, from this side or the other, and data goes both ways.
    fn open(&mut self, choices: &mut Choices<'_>) {
        let version = usize::from(choices.chance(100));
        let peer = SocketAddr::new(addresses(1)[version], 80);
        let opened = match choices.chance(128) {
            true => self.host.connect(self.now, peer).ok(),
            false => self.come(choices, version),
        };
        let Some(id) = opened else {
            return;
        };
        self.connections.push(id);
        while self.host.poll_transmit(self.now, &mut self.sent) {}
        if let Some(syn) = self.sent.packets.last().and_then(|packet| decode(packet).ok())
            && syn.segment.flags == Flags::SYN
            && choices.chance(200)
        {
            let mut answer = self.segment(choices, Flags::SYN | Flags::ACK);
            answer.ack = syn.segment.seq + 1;
            self.hand(&answer, syn.endpoints.reverse());
        }
        let bytes = vec![5; choices.below(3000) as usize];
        // It may be over.
        let _ = self.host.write(self.now, id, &bytes);
        match choices.below(6) {
            0 => drop(self.host.close(self.now, id)),
            1 => drop(self.host.release(self.now, id)),
            2 => drop(self.host.abort(id)),
            _ => {}
        }
        while self.host.poll_transmit(self.now, &mut self.sent) {}
    }

    fn segment(&self, choices: &mut Choices<'_>, flags: Flags) -> Segment {
        Segment {
            seq: SeqNumber(choices.number()),
            flags,
            window: choices.number() as u16,
            options: Options {
                mss: Some(choices.one(&[1460, 536, 48, 0])),
                window_scale: choices.chance(128).then(|| choices.byte() % 16),
                sack_permitted: choices.chance(200),
                timestamps: choices.chance(128).then_some(Timestamps { value: 7, echo: 0 }),
                ..Options::NONE
            },
            ..Segment::default()
        }
    }

    /// A peer connects as it should.
    fn come(&mut self, choices: &mut Choices<'_>, version: usize) -> Option<ConnectionId> {
        let src = SocketAddr::new(addresses(1)[version], choices.number() as u16 | 1);
        let ends = recoup_wire::Endpoints { src, dst: SocketAddr::new(addresses(0)[version], PORTS[0]) };
        let syn = self.segment(choices, Flags::SYN);
        self.hand(&syn, ends);
        let answer = decode(self.sent.packets.last()?).ok()?;
        let mut ack = Segment { seq: syn.seq + 1, ack: answer.segment.seq + 1, flags: Flags::ACK, ..syn };
        ack.options = Options { timestamps: syn.options.timestamps, ..Options::NONE };
        self.hand(&ack, ends);
        self.listeners.iter().find_map(|listener| self.host.accept(*listener))
    }

    fn hand(&mut self, segment: &Segment, ends: recoup_wire::Endpoints) {
        let mut packet = Vec::new();
        if encode(segment, &ends, 1, Payload::Fill(5), &mut packet).is_ok() {
            self.host.on_packet(self.now, &packet, &mut self.sent);
            while self.host.poll_transmit(self.now, &mut self.sent) {}
        }
    }

    /// Applications accept, read, let go.
    fn use_sockets(&mut self, choices: &mut Choices<'_>) {
        while self.host.next_event().is_some() {}
        while let Some(listener) = self.host.next_asking() {
            while let Some(incoming) = self.host.next_incoming(listener) {
                let options = self.host.listener_options(listener);
                match choices.below(3) {
                    0 => self.connections.extend(self.host.admit(self.now, &incoming.path, &options)),
                    1 => drop(self.host.refuse(self.now, &incoming.path)),
                    _ => self.host.ignore(&incoming.path),
                }
            }
        }
        for listener in &self.listeners {
            self.connections.extend(self.host.accept(*listener));
        }
        let mut into = [0; 1000];
        let now = self.now;
        for id in &self.connections {
            while matches!(self.host.read(now, *id, &mut into), Ok(Read::Bytes(_))) && choices.chance(128) {}
        }
        let host = &mut self.host;
        self.connections.retain(|id| match choices.below(6) {
            0 => host.release(now, *id).is_err(),
            1 => host.abort(*id).is_err(),
            _ => true,
        });
        for socket in &self.sockets {
            while host.udp_receive(*socket).is_ok_and(|datagram| datagram.is_some()) {}
            while host.ping_receive(*socket).is_ok_and(|reply| reply.is_some()) {}
        }
        while host.next_readable_datagram().is_some() {}
        if choices.chance(30) {
            let mtu = mtu(choices);
            host.set_mtu(now, mtu);
            (self.mtu, self.sent.mtu) = (mtu, mtu.into());
        }
        while host.poll_transmit(now, &mut self.sent) {}
    }

    fn wait(&mut self, duration: Duration) {
        let end = self.now + duration;
        let mut fired = 0;
        while let Some(at) = self.host.next_timer().filter(|at| *at <= end) {
            fired += 1;
            assert!(fired < 100_000, "timers fire for ever at {at:?}");
            self.now = self.now.max(at);
            self.host.on_timer(self.now);
            while self.host.poll_transmit(self.now, &mut self.sent) {}
            self.look();
        }
        self.now = end;
    }

    /// Keeps what a stranger could learn from packets, and checks what must always hold.
    fn look(&mut self) {
        let (memory, most) = (self.host.memory(), self.host.config().memory);
        assert!(memory <= most, "{memory} bytes of memory for {} connections: {most} at most", self.host.connections());
        for packet in self.sent.packets.drain(..) {
            if let Ok(decoded) = decode(&packet) {
                self.numbers.extend([decoded.segment.seq.0, decoded.segment.ack.0]);
                self.ports.push(decoded.endpoints.src.port());
                self.ports.push(decoded.endpoints.dst.port());
            }
        }
        let surplus = self.numbers.len().saturating_sub(KEPT);
        self.numbers.drain(..surplus);
        let surplus = self.ports.len().saturating_sub(KEPT);
        self.ports.drain(PORTS.len()..PORTS.len() + surplus);
    }

    /// Everything ends.
    fn finish(mut self) {
        for id in std::mem::take(&mut self.connections) {
            // It may be gone.
            let _ = self.host.abort(id);
        }
        for listener in std::mem::take(&mut self.listeners) {
            self.host.stop_listening(listener);
        }
        while self.host.poll_transmit(self.now, &mut self.sent) {}
        self.wait(Duration::from_secs(3600));
        assert_eq!(self.host.connections(), 0, "connections without an owner");
        assert_eq!((self.host.memory(), self.host.time_waits()), (0, 0), "memory without connections");
        assert_eq!(self.host.next_timer(), None, "a timer without connections");
    }
}
