//! Many transfers both ways at the same time, between sockets and the kernel's, over a path that loses, duplicates, reorders
//! and corrupts packets.
//!
//! RECOUP_STORM_MEGABYTES sets the length of each of the 40 streams: 200 is the full test.

use crate::host::{
    faulty::{Faults, Faulty},
    peers::with_own_device,
};
use recoup_stack::{Config, blocking};
use recoup_units::SplitMix;
use sha2::{Digest, Sha256};
use std::{
    io::{Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Connections: half of them begin at the kernel, half at the stack.
const CONNECTIONS: usize = 20;

/// Megabytes of each stream if RECOUP_STORM_MEGABYTES is not set.
const MEGABYTES: u64 = 1;

/// Per thousand packets of each direction.
const FAULTS: Faults = Faults { seed: 1, lost: 50, doubled: 10, late: 20, corrupted: 10 };

/// How long nothing may arrive. Retransmission timeouts of an unlucky connection double.
const PATIENCE: Duration = Duration::from_secs(120);

type Sum = [u8; 32];

/// Writes a stream of pseudo-random bytes, and returns its SHA-256.
fn send(mut to: impl Write, seed: u64, mut left: u64) -> Sum {
    let (mut draws, mut sum, mut chunk) = (SplitMix(seed << 40), Sha256::new(), vec![0; 1 << 16]);
    while left > 0 {
        chunk.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&draws.bits().to_le_bytes()));
        let part = &chunk[..left.min(chunk.len() as u64) as usize];
        sum.update(part);
        to.write_all(part).unwrap();
        left -= part.len() as u64;
    }
    sum.finalize().into()
}

/// Reads a stream to its end, and returns its length and its SHA-256.
fn receive(mut from: impl Read) -> (u64, Sum) {
    let (mut sum, mut chunk, mut length) = (Sha256::new(), vec![0; 1 << 16], 0);
    loop {
        match from.read(&mut chunk).unwrap() {
            0 => return (length, sum.finalize().into()),
            count => {
                sum.update(&chunk[..count]);
                length += count as u64;
            }
        }
    }
}

/// What one end of a connection sent and received.
type Traded = (Sum, (u64, Sum));

fn kernel_trades(stream: TcpStream, seed: u64, length: u64) -> Traded {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let reader = stream.try_clone().unwrap();
    let receiving = thread::spawn(move || receive(reader));
    let sent = send(&stream, seed, length);
    stream.shutdown(Shutdown::Write).unwrap();
    (sent, receiving.join().unwrap())
}

fn stack_trades(stream: blocking::TcpStream, seed: u64, length: u64) -> Traded {
    stream.set_read_timeout(Some(PATIENCE));
    stream.set_write_timeout(Some(PATIENCE));
    let stream = Arc::new(stream);
    let reader = Arc::clone(&stream);
    let receiving = thread::spawn(move || receive(&*reader));
    let sent = send(&*stream, seed, length);
    stream.close().unwrap();
    (sent, receiving.join().unwrap())
}

/// Begins a connection between these addresses, and returns what both its ends will have done: the kernel's first.
fn begin(stack: &blocking::Stack, [kernel, own]: [IpAddr; 2], number: usize, length: u64) -> [JoinHandle<Traded>; 2] {
    let (seed, stack) = (2 * number as u64, stack.clone());
    let port = 1000 + number as u16;
    if number % 2 == 0 {
        let at = SocketAddr::new(own, port);
        let listener = blocking::TcpListener::bind(&stack, at).unwrap();
        let near = thread::spawn(move || {
            let (stream, _) = listener.accept_timeout(PATIENCE).unwrap();
            stack_trades(stream, seed, length)
        });
        let far = thread::spawn(move || kernel_trades(TcpStream::connect(at).unwrap(), seed + 1, length));
        [far, near]
    } else {
        let listener = TcpListener::bind(SocketAddr::new(kernel, port)).unwrap();
        let at = listener.local_addr().unwrap();
        let far = thread::spawn(move || kernel_trades(listener.accept().unwrap().0, seed + 1, length));
        let near = thread::spawn(move || {
            let stream = blocking::TcpStream::connect_timeout(&stack, at, PATIENCE).unwrap();
            stack_trades(stream, seed, length)
        });
        [far, near]
    }
}

#[test]
fn streams_both_ways_are_whole_whatever_happens_to_packets() {
    let setting = std::env::var("RECOUP_STORM_MEGABYTES").ok();
    let megabytes = setting.map_or(MEGABYTES, |text| text.parse().expect("a number of megabytes"));
    let length = megabytes * 1_000_000;
    with_own_device(false, 1500, move |device| {
        let own = device.host_addresses().to_vec();
        let kernel = device.kernel_addresses().to_vec();
        let config = Config::new(own.iter().copied());
        let stack = blocking::Stack::new(Faulty::new(device, FAULTS), config).unwrap();
        let start = Instant::now();
        // Both IP versions, if there are two.
        let pairs = kernel.iter().zip(&own).cycle();
        let connections: Vec<_> = pairs
            .take(CONNECTIONS)
            .enumerate()
            .map(|(number, (kernel, own))| begin(&stack, [*kernel, *own], number, length))
            .collect();
        for (number, ends) in connections.into_iter().enumerate() {
            let [(far_sent, far_received), (near_sent, near_received)] = ends.map(|end| end.join().unwrap());
            assert_eq!((near_received, far_received), ((length, far_sent), (length, near_sent)), "{number}");
        }
        let seconds = start.elapsed().as_secs_f64();
        let megabits = (8 * 2 * CONNECTIONS as u64 * megabytes) as f64 / seconds;
        println!("{megabytes} MB both ways on {CONNECTIONS} connections in {seconds:.1} s: {megabits:.0} Mbit/s");
        println!("{:?}", stack.stats());
        let stats = stack.stats();
        // Corrupted packets arrived, and nobody took them.
        assert!(stats.ignored > stats.packets_in / 1000, "{stats:?}");
    });
}
