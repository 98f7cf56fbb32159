//! Groups of stacks over the queues of one TUN device.

use crate::{
    beside_others,
    host::peers::{bytes, kernel_trades},
};
use recoup_net::{Namespace, TunDevice, TunOptions};
use recoup_stack::{
    Config,
    blocking::{Stack, TcpListener, TcpStream},
};
use recoup_testing::skip;
use std::{
    io::{Read, Write},
    net::{self, IpAddr},
    thread,
    time::Duration,
};

const QUEUES: usize = 2;

/// Runs `test` with a group of stacks over a device, with their address and the kernel's, with and without offloads.
fn with_group(test: impl Fn(&[Stack], IpAddr, IpAddr) + Copy + Send + 'static) {
    let _beside = beside_others();
    for offloads in [true, false] {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(e) => return skip(e),
        };
        let options = TunOptions { offloads, ..TunOptions::default() };
        let ran = namespace.run(move || match TunDevice::open_queues(&options, QUEUES) {
            Ok(queues) => {
                let (ours, theirs) = (queues[0].host_addresses()[0], queues[0].kernel_addresses()[0]);
                let stacks = Stack::group(queues, &Config::new([ours])).unwrap();
                test(&stacks, ours, theirs);
            }
            Err(e) => skip(e),
        });
        assert!(ran.is_ok(), "the test in the namespace failed");
    }
}

#[test]
fn the_stacks_of_a_group_share_the_clients() {
    const CLIENTS: u64 = 40;
    with_group(|stacks, ours, _| {
        let at = net::SocketAddr::new(ours, 80);
        let client = |n| {
            thread::spawn(move || kernel_trades(net::TcpStream::connect(at).unwrap(), &bytes(n, 50_000 + n as usize)))
        };
        let listeners: Vec<TcpListener> = stacks.iter().map(|stack| TcpListener::bind(stack, at).unwrap()).collect();
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let mut served = vec![0; stacks.len()];
        let mut echoes = Vec::new();
        while served.iter().sum::<u64>() < CLIENTS {
            for (listener, served) in listeners.iter().zip(&mut served) {
                while let Ok((mut stream, _)) = listener.accept_timeout(Duration::from_millis(1)) {
                    *served += 1;
                    echoes.push(thread::spawn(move || {
                        let (mut reader, mut received) = (&stream, Vec::new());
                        reader.read_to_end(&mut received).unwrap();
                        stream.write_all(&received).unwrap();
                    }));
                }
            }
        }
        for (n, client) in clients.into_iter().enumerate() {
            assert!(client.join().unwrap() == bytes(n as u64, 50_000 + n), "{n}");
        }
        echoes.into_iter().for_each(|echo| echo.join().unwrap());
        assert!(served.iter().all(|count| *count > 0), "{served:?}");
    });
}

#[test]
fn an_idle_connection_that_a_stack_began_hears_of_its_peer() {
    // The kernel forgets after three seconds to which queue a flow belongs.
    const IDLE: Duration = Duration::from_millis(3500);
    with_group(|stacks, _, theirs| {
        let listener = net::TcpListener::bind((theirs, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let mut connections = Vec::new();
        for stack in stacks.iter().cycle().take(8 * QUEUES) {
            let ours = TcpStream::connect(stack, at).unwrap();
            let (theirs, _) = listener.accept().unwrap();
            connections.push((ours, theirs));
        }
        thread::sleep(IDLE);
        for (ours, theirs) in &mut connections {
            theirs.write_all(b"hello").unwrap();
            let mut into = [0; 5];
            ours.set_read_timeout(Some(Duration::from_secs(5)));
            ours.read_exact(&mut into).unwrap();
            assert_eq!(&into, b"hello");
        }
        let strays: u64 = stacks.iter().map(|stack| stack.stats().strays).sum();
        assert!(strays > 0, "the kernel found every queue");
    });
}
