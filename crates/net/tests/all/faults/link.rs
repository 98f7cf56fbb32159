//! A link that goes down and comes back, and one that loses nearly every third packet.

use crate::faults::{
    PATIENCE, bytes, config,
    conversation::{Conversation, kernel_trades, serve},
    side::{Kind, Side, on_both_sides},
    wire::Lossy,
};
use recoup_net::TunDevice;
use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

on_both_sides!(
    with_device: both_streams_continue_after_three_seconds_without_a_link,
    at_30_percent_loss_both_streams_are_complete,
);

fn both_streams_continue_after_three_seconds_without_a_link<K: Kind>(device: &mut TunDevice) {
    const DOWN: Duration = Duration::from_secs(3);
    let listener = TcpListener::bind((device.kernel_addresses()[0], 0)).unwrap();
    let remote = listener.local_addr().unwrap();
    let (up, down) = (bytes(1, 2_000_000), bytes(2, 2_000_000));
    let server = {
        let down = down.clone();
        // 5 kB/ms for 400 ms.
        let pause = Duration::from_millis(5);
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            kernel_trades(&stream, &down, 25_000, pause)
        })
    };
    let mut side = K::Side::open(config(device), Lossy::not(device));
    let id = side.connect(remote);
    let mut ours = Conversation::new(id, &up);
    ours.allowed = 500_000;
    ours.until(&mut side, "half a megabyte each way", |ours, _| ours.sent == 500_000 && ours.received.len() >= 500_000);

    side.device().cut();
    let cut = Instant::now();
    ours.allowed = usize::MAX;
    while cut.elapsed() < DOWN {
        ours.step(&mut side);
    }
    assert!(!ours.is_done() && ours.failed.is_none(), "{:?}", ours.failed);
    assert!(side.device().lost > 0);
    side.device().mend();

    ours.until(&mut side, "the rest", |ours, _| ours.is_done());
    assert!(ours.received == down, "{} bytes", ours.received.len());
    assert!(side.retransmissions(id) > 0);
    ours.until(&mut side, "the end", |_, side| side.is_quiet(id));
    side.release(id);
    while !server.is_finished() {
        side.turn(Duration::from_millis(5));
    }
    assert!(server.join().unwrap() == up);
}

/// The maximum RTO at 30 % loss. A share of 1 - 0.7² = 0.51 of the retransmissions stays unanswered.
/// With unlimited back-off the mean wait would therefore be infinite, also between two kernels.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Sets the same maximum RTO for the kernel's TCP in this thread's namespace, and raises its limit of
/// timeouts. Kernels before 6.15 do not support it.
fn bound_kernel() -> bool {
    let set = |name: &str, value: &str| {
        let file = format!("/proc/sys/net/ipv4/{name}");
        std::fs::write(file, value).is_ok()
    };
    set("tcp_retries2", "255") && set("tcp_rto_max_ms", &LONGEST_TIMEOUT.as_millis().to_string())
}

fn at_30_percent_loss_both_streams_are_complete<K: Kind>(device: &mut TunDevice) {
    const CONNECTIONS: u64 = 4;
    let ours = SocketAddr::new(device.host_addresses()[0], 80);
    let mut config = config(device);
    config.tcp.endpoint.mechanisms.rto.max = LONGEST_TIMEOUT;
    let mut side = K::Side::open(config, Lossy::new(device, 1, 30));
    side.listen(ours);
    // At worst one segment is retransmitted again and again.
    let len = if bound_kernel() { 20_000 } else { 1000 };
    let down = bytes(0, 20_000);
    let clients = (1..=CONNECTIONS).map(|seed| {
        thread::spawn(move || {
            let (stream, up) = (TcpStream::connect(ours).unwrap(), bytes(seed, len));
            let received = kernel_trades(&stream, &up, up.len(), Duration::ZERO);
            // The kernel gives up unacknowledged data early if the connection is closed.
            (stream, up, received)
        })
    });
    let clients: Vec<_> = clients.collect();
    let began = Instant::now();
    let mut conversations: Vec<Conversation> = Vec::new();
    let is_done = |all: &[Conversation]| all.len() == clients.len() && all.iter().all(Conversation::is_done);
    while !(is_done(&conversations) && clients.iter().all(thread::JoinHandle::is_finished)) {
        for one in &conversations {
            assert_eq!(one.failed, None);
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{} came, {:?}",
            conversations.len(),
            conversations.iter().map(|one| side.state(one.id)).collect::<Vec<_>>()
        );
        serve(&mut side, &mut conversations, &down);
    }
    let (lost, waited) = (side.device().lost, began.elapsed());
    println!("{CONNECTIONS} connections in {waited:?}, {lost} packets lost");
    for client in clients {
        let (_stream, up, received) = client.join().unwrap();
        assert!(received == down, "{} bytes", received.len());
        let whole = conversations.iter().filter(|one| one.received == up);
        assert_eq!(whole.count(), 1);
    }
    assert!(lost > 30, "{lost}");
}
