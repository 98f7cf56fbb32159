use super::*;
use crate::Namespace;
use recoup_testing::skip;
use std::{
    net::{SocketAddr, UdpSocket},
    process::Command,
    thread,
    time::Instant,
};

/// Runs a test with a device in a namespace of its own, if the system permits it.
fn with_device(offloads: bool, test: impl FnOnce(TunDevice) + Send + 'static) {
    let options = TunOptions { offloads, ..TunOptions::default() };
    let ran = Namespace::new().and_then(|namespace| {
        let test = move || TunDevice::open_with(&options).map(test);
        namespace.run(test)?
    });
    if let Err(why) = ran {
        skip(why);
    }
}

/// Runs `ip link` with these words.
fn link(words: &[&str]) {
    let done = Command::new("ip").arg("link").args(words).status().unwrap();
    assert!(done.success(), "ip link {words:?}");
}

fn received(device: &mut TunDevice) -> io::Result<usize> {
    let mut batch = Batch::new();
    device.receive(&mut batch)?;
    Ok(batch.len())
}

/// Sends datagrams of the kernel to the stack's address.
fn send_datagrams(device: &TunDevice, count: usize) {
    let socket = UdpSocket::bind(SocketAddr::new(device.kernel[0], 0)).unwrap();
    for _ in 0..count {
        socket.send_to(&[1; 100], SocketAddr::new(device.host[0], 9)).unwrap();
    }
}

/// A packet that the kernel takes: an IPv4 header without payload, of a protocol that it does not know.
const PACKET: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];

fn send(device: &mut TunDevice) -> u64 {
    device.send(&VnetHeader::default(), [&PACKET, &[], &[]]) + device.flush()
}

#[test]
fn a_device_that_is_down_loses_packets_and_one_that_was_removed_is_gone() {
    for offloads in [true, false] {
        with_device(offloads, |mut device| {
            let name = device.name().to_owned();
            while received(&mut device).unwrap() > 0 {}
            assert_eq!(send(&mut device), 0);

            link(&["set", &name, "down"]);
            assert_eq!(received(&mut device).unwrap(), 0);
            assert_eq!(send(&mut device), 1);
            let down = received(&mut device).unwrap_err();
            assert_eq!(
                (down.kind(), down.to_string()),
                (io::ErrorKind::NetworkDown, format!("the interface {name} is down"))
            );

            link(&["set", &name, "up"]);
            assert_eq!(send(&mut device), 0);
            thread::sleep(Duration::from_millis(1100));
            device.properties();
            while received(&mut device).unwrap() > 0 {}

            let waits = Instant::now();
            let remover = thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                link(&["delete", &name]);
            });
            let long = Duration::from_secs(20);
            let gone = loop {
                device.wait(Some(long)).unwrap();
                if let Err(error) = received(&mut device) {
                    break error;
                }
            };
            remover.join().unwrap();
            assert!(waits.elapsed() < long);
            assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
            assert!(gone.to_string().ends_with("h was removed"), "{gone}");
            assert_eq!(send(&mut device), 1);
            assert_eq!(device.properties().mtu, 1500);
        });
    }
}

#[test]
fn a_thread_waits_for_packets_only_if_the_last_look_found_none() {
    with_device(true, |mut device| {
        while received(&mut device).unwrap() > 0 {}
        let mut context = Context::from_waker(Waker::noop());
        assert!(device.poll_ready(&mut context).is_pending());
        send_datagrams(&device, 40);
        device.wait(None).unwrap();
        assert_eq!(received(&mut device).unwrap(), 32);
        assert!(device.poll_ready(&mut context).is_ready());
        device.wait(None).unwrap();
        assert_eq!(received(&mut device).unwrap(), 8);
        device.wait(None).unwrap();
        assert_eq!(received(&mut device).unwrap(), 0);
        assert!(device.poll_ready(&mut context).is_pending());

        let waker = device.waker();
        let other = thread::spawn(move || waker.wake());
        device.wait(None).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_process_has_several_devices_and_a_raised_mtu_is_noticed() {
    with_device(false, |mut device| {
        let other = TunDevice::open(1400).unwrap();
        assert_ne!(other.name(), device.name());
        assert_ne!(other.host_addresses(), device.host_addresses());

        assert_eq!(device.properties(), Properties { mtu: 1500, offloads: false });
        let mut long = [0; 4000];
        long[..20].copy_from_slice(&PACKET);
        long[2..4].copy_from_slice(&4000_u16.to_be_bytes());
        assert_eq!(device.send(&VnetHeader::default(), [&long, &[], &[]]) + device.flush(), 1);
        let name = device.name().to_owned();
        link(&["set", &name, "mtu", "4000"]);
        thread::sleep(Duration::from_millis(1100));
        assert_eq!(device.properties().mtu, 4000);
        assert_eq!(device.send(&VnetHeader::default(), [&long, &[], &[]]) + device.flush(), 0);
    });
}
