//! Explicit congestion notification between Recoup's host and the kernel's TCP.

use super::{
    ends,
    peers::{MTU, bytes, with_device},
};
use recoup_net::TunDevice;
use recoup_stack::{
    Config, Driver, VnetHeader,
    device::{Batch, Device, Properties, Wait},
    host::{Host, Secret},
};
use recoup_tcp::Ecn;
use recoup_wire::{Flags, decode};
use std::{
    io::{self, Read},
    net::{SocketAddr, TcpListener},
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

/// A device that marks one packet "congestion experienced", and counts what passes.
struct Marking<'a> {
    device: &'a mut TunDevice,
    /// Packets with data that are ECN-capable, and those that are not.
    capable: u32,
    other: u32,
    /// Packets that echo a mark, and packets that say that the window was reduced.
    echoes: u32,
    reduced: u32,
}

/// Sets both ECN bits of an IPv4 header whose field is ECT(0), and mends its checksum (RFC 1624).
fn mark(packet: &mut [u8]) {
    assert_eq!(packet[1] & 3, 2);
    packet[1] |= 3;
    let sum = u32::from(!u16::from_be_bytes([packet[10], packet[11]])) + 1;
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

impl Device for Marking<'_> {
    fn properties(&mut self) -> Properties {
        self.device.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.device.receive(batch)?;
        for (_, packet) in batch.iter() {
            let echo = decode(packet).is_ok_and(|p| p.segment.flags.contains(Flags::ECE));
            self.echoes += u32::from(echo);
        }
        Ok(())
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        let mut packet = packet.concat();
        if let Ok(decoded) = decode(&packet) {
            let segment = decoded.segment;
            self.reduced += u32::from(segment.flags.contains(Flags::CWR) && !segment.flags.contains(Flags::SYN));
            if segment.payload_len > 0 {
                let capable = decoded.ecn.is_capable();
                self.capable += u32::from(capable);
                self.other += u32::from(!capable);
                if capable && self.capable == 50 {
                    mark(&mut packet);
                }
            }
        }
        self.device.send(header, [&packet, &[], &[]])
    }

    fn flush(&mut self) -> u64 {
        self.device.flush()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.device.poll_ready(context)
    }
}

impl Wait for Marking<'_> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.device.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.device.waker()
    }
}

#[test]
fn the_kernel_agrees_to_ecn_and_echoes_a_mark() {
    with_device(|device| {
        let (_, theirs) = ends(device, 0).unwrap();
        let listener = TcpListener::bind(SocketAddr::new(theirs, 0)).unwrap();
        let remote = listener.local_addr().unwrap();
        let reader = thread::spawn(move || {
            let mut received = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
            received
        });
        let mut config = Config::new(device.host_addresses().iter().copied());
        config.tcp.endpoint.ecn = Ecn::Ask;
        let host = Host::new(config, MTU, Secret::from_key([1; 16]));
        let marking = Marking { device, capable: 0, other: 0, echoes: 0, reduced: 0 };
        let mut driver = Driver::new(host, marking);
        let sent = bytes(1, 500_000);
        let id = driver.host.connect(driver.now(), remote).unwrap();
        let mut written = 0;
        while written < sent.len() {
            driver.turn(Duration::from_millis(1)).unwrap();
            while driver.host.next_event().is_some() {}
            written += driver.host.write(driver.now(), id, &sent[written..]).unwrap();
        }
        while driver.host.unacknowledged(id) != Some(0) {
            driver.turn(Duration::from_millis(1)).unwrap();
            while driver.host.next_event().is_some() {}
        }
        let ssthresh = driver.host.info(driver.now(), id).unwrap().snd_ssthresh;
        driver.host.close(driver.now(), id).unwrap();
        for _ in 0..50 {
            driver.turn(Duration::from_millis(1)).unwrap();
            while driver.host.next_event().is_some() {}
        }
        assert!(reader.join().unwrap() == sent);
        let Marking { capable, other, echoes, reduced, .. } = driver.device();
        // New data is ECN-capable, and retransmissions are not.
        assert!(*capable >= 340 && *other < 10, "{capable} capable, {other} others");
        assert!(*echoes >= 1, "no echo");
        assert_eq!(*reduced, 1);
        assert!(ssthresh < 1000, "ssthresh {ssthresh}");
    });
}
