//! Stacks as tasks of tokio, over a TUN device and over an interface.

use crate::{
    beside_others,
    host::{
        interface::{PEER, ip_in, options, with_ends},
        peers::{bytes, kernel_trades},
    },
};
use recoup_net::{AsyncDevice, Namespace, PacketDevice, TunDevice, TunOptions};
use recoup_stack::{Config, Stack, TcpListener, device::Device};
use recoup_testing::skip;
use std::{
    future::poll_fn,
    net::{IpAddr, SocketAddr, TcpStream},
    os::fd::AsFd,
    thread::{self, JoinHandle},
};

/// A client of the kernel and a task on a stack send each other a stream. `connect` starts the client's thread.
fn trade<D: Device + AsFd + Send + 'static>(
    device: D,
    addresses: &[IpAddr],
    connect: impl Fn(SocketAddr, Vec<u8>) -> JoinHandle<Vec<u8>>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().unwrap();
    runtime.block_on(async {
        let config = Config::new(addresses.iter().copied());
        let stack = Stack::new(AsyncDevice::new(device).unwrap(), config).unwrap();
        for address in addresses {
            let local = SocketAddr::new(*address, 80);
            let listener = TcpListener::bind(&stack, local).unwrap();
            let (up, down) = (bytes(1, 2_000_000), bytes(2, 2_000_000));
            let client = connect(local, up.clone());
            let (stream, _) = listener.accept().await.unwrap();
            let (mut chunk, mut received, mut sent) = (vec![0; 70_000], Vec::new(), 0);
            // Both directions move on in turns.
            while received.len() < up.len() || sent < down.len() {
                if received.len() < up.len() {
                    let count = poll_fn(|context| stream.poll_read(context, &mut chunk)).await.unwrap();
                    received.extend_from_slice(&chunk[..count]);
                }
                if sent < down.len() {
                    sent += poll_fn(|context| stream.poll_write(context, &down[sent..])).await.unwrap();
                }
            }
            assert!(received == up, "{} bytes from {address}", received.len());
            drop(stream);
            // The client gets the rest from the stack's task.
            stack.finished().await;
            assert!(client.join().unwrap() == down);
        }
    });
}

#[test]
fn streams_over_a_tun_device() {
    let _beside = beside_others();
    for offloads in [true, false] {
        let options = TunOptions { offloads, ..TunOptions::default() };
        let test = move || {
            TunDevice::open_with(&options).map(|device| {
                let addresses = device.host_addresses().to_vec();
                trade(device, &addresses, |server, up| {
                    thread::spawn(move || kernel_trades(TcpStream::connect(server).unwrap(), &up))
                });
            })
        };
        if let Err(why) = Namespace::new().and_then(|namespace| namespace.run(test)?) {
            skip(why);
        }
    }
}

#[test]
fn streams_over_an_interface() {
    with_ends(|peer| {
        ip_in(&peer, PEER);
        let device = PacketDevice::open(&options()).unwrap();
        let addresses = device.addresses().to_vec();
        trade(device, &addresses, |server, up| {
            let client = move || kernel_trades(TcpStream::connect(server).unwrap(), &up);
            peer.run(|| thread::spawn(client)).unwrap()
        });
    });
}
