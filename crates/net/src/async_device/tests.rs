use super::*;
use crate::{Namespace, TunDevice};
use recoup_testing::skip;
use std::{
    future::poll_fn,
    net::{SocketAddr, UdpSocket},
    process::Command,
    thread,
};

/// Receives what there is, without waiting.
fn received(device: &mut AsyncDevice<TunDevice>) -> io::Result<usize> {
    let mut batch = Batch::new();
    device.receive(&mut batch)?;
    Ok(batch.len())
}

/// Waits as a task until `count` packets have come.
async fn receive(device: &mut AsyncDevice<TunDevice>, count: usize) {
    let mut left = count;
    while left > 0 {
        poll_fn(|context| device.poll_ready(context)).await;
        left -= received(device).unwrap();
    }
}

fn test(device: TunDevice) {
    let [from, to] = [device.kernel_addresses()[0], device.host_addresses()[0]];
    let name = device.name().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let mut device = AsyncDevice::new(device).unwrap();
        assert_eq!(device.properties(), Properties { mtu: 1500, offloads: true });
        // More than a batch, twice.
        for _ in 0..2 {
            let sender = thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                let socket = UdpSocket::bind(SocketAddr::new(from, 0)).unwrap();
                for _ in 0..100 {
                    socket.send_to(&[1; 100], SocketAddr::new(to, 9)).unwrap();
                }
            });
            receive(&mut device, 100).await;
            sender.join().unwrap();
            assert_eq!(received(&mut device).unwrap(), 0);
            let mut context = Context::from_waker(Waker::noop());
            assert!(device.poll_ready(&mut context).is_pending());
        }
        // Nothing says that a device was removed; it is found out after a while.
        let removed = Command::new("ip").args(["link", "delete", &name]).status().unwrap();
        assert!(removed.success());
        thread::sleep(PERIOD);
        let gone = loop {
            if let Err(error) = received(&mut device) {
                break error;
            }
            thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_task_wakes_for_packets() {
    let ran = Namespace::new().and_then(|namespace| namespace.run(|| TunDevice::open(1500).map(test))?);
    if let Err(why) = ran {
        skip(why);
    }
}
