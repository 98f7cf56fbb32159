//! Two stacks joined by WireGuard over loopback.

use super::*;
use recoup_stack::TcpListener;
use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

#[allow(dead_code)]
#[path = "../../programs/wireguard.rs"]
mod program;

use program::{Keys, Tunnel, sockets};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Datagrams of a tunnel's end.
#[derive(Default)]
struct Counts {
    handshakes: AtomicU64,
    data: AtomicU64,
    lost: AtomicU64,
}

impl Counts {
    /// Counts a datagram by its type (WireGuard §5.4) and says whether it leaves: each `of`th of data does not, in no even order.
    fn keep(&self, datagram: &[u8], of: u64) -> bool {
        if datagram[0] != 4 {
            self.handshakes.fetch_add(1, Relaxed);
            return true;
        }
        let number = self.data.fetch_add(1, Relaxed);
        let lost = of > 0 && number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / of;
        self.lost.fetch_add(lost.into(), Relaxed);
        !lost
    }
}

/// Sends 10 MB from the near to the far stack while the keys are renewed, and returns the counts of both ends.
async fn transfer(lost_of: u64) -> [Arc<Counts>; 2] {
    let (keys, sockets) = (Keys::pair().unwrap(), sockets().await.unwrap());
    let ends = [Arc::new(Tunnel::new(keys.0, 1, sockets.0)), Arc::new(Tunnel::new(keys.1, 2, sockets.1))];
    let counts = [(); 2].map(|()| Arc::new(Counts::default()));
    let stack = |end: usize, address: Ipv4Addr| {
        let counts = Arc::clone(&counts[end]);
        ends[end].stack(address.into(), move |datagram| counts.keep(datagram, lost_of)).unwrap()
    };
    let (near, far) = (stack(0, NEAR), stack(1, FAR));
    let listener = TcpListener::bind(&far, (FAR, 80).into()).unwrap();
    let sent = bytes(10_000_000);
    let receive = async {
        let (mut stream, peer) = listener.accept().await.unwrap();
        assert_eq!(peer.ip(), NEAR);
        let mut received = Vec::new();
        while received.len() < sent.len() {
            // Keys are renewed in the middle of it, from either end.
            for (share, end) in [(3, 0), (2, 1)] {
                if received.len() <= sent.len() / share && received.len() + (64 << 10) > sent.len() / share {
                    ends[end].renew().await.unwrap();
                }
            }
            let before = received.len();
            let most = (64 << 10).min(sent.len() - before);
            received.resize(before + most, 0);
            let count = stream.read(&mut received[before..]).await.unwrap();
            received.truncate(before + count);
            assert!(count > 0, "{before} bytes, then the end");
        }
        received
    };
    let send = async {
        let mut stream = TcpStream::connect(&near, (FAR, 80).into()).await.unwrap();
        stream.write_all(&sent).await.unwrap();
        stream.shutdown().await.unwrap();
        stream
    };
    let both = async { ::tokio::join!(receive, send) };
    let (received, _stream) = timeout(Duration::from_secs(60), both).await.unwrap();
    assert!(received == sent);
    counts
}

#[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_megabytes_go_through_while_keys_are_renewed() {
    let [near, far] = transfer(0).await;
    // The first handshake, one renewal of the near end, and the answer to that of the far end; and the other way round. The
    // initiations of renewals are sent by the test.
    let handshakes = [&near, &far].map(|counts| counts.handshakes.load(Relaxed));
    assert!(handshakes.iter().all(|count| *count >= 2), "{handshakes:?}");
    assert!(near.data.load(Relaxed) >= 7_000, "{}", near.data.load(Relaxed));
}

#[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_percent_of_the_datagrams_may_be_lost() {
    let [near, far] = transfer(50).await;
    for counts in [near, far] {
        let share = counts.lost.load(Relaxed) as f64 / counts.data.load(Relaxed) as f64;
        assert!((0.01..0.03).contains(&share), "{share}");
    }
}
