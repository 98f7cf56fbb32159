//! Devices that go down, come back, change and vanish; peers that vanish.

use super::*;
use recoup_stack::{
    KeepAlive, Notice, TcpListener, TcpStream, UdpSocket, VnetHeader,
    device::{Batch, Device, PairDevice},
};
use std::{
    io::{self, ErrorKind},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

/// What happens to a device.
#[derive(Clone, Copy, Default)]
struct State {
    down: bool,
    /// Packets are swallowed without an error.
    silent: bool,
    mtu: Option<u16>,
}

/// A device under control.
struct Controlled {
    device: PairDevice,
    state: Arc<Mutex<State>>,
}

impl Controlled {
    fn state(&self) -> State {
        *self.state.lock().unwrap()
    }
}

impl Device for Controlled {
    fn properties(&mut self) -> Properties {
        let properties = self.device.properties();
        Properties { mtu: self.state().mtu.unwrap_or(properties.mtu), ..properties }
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        if self.state().down {
            return Err(io::Error::new(ErrorKind::NetworkDown, "network is down"));
        }
        self.device.receive(batch)?;
        if self.state().silent {
            batch.clear();
        }
        Ok(())
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        let State { down, silent, mtu } = self.state();
        let len: usize = packet.iter().map(|part| part.len()).sum();
        let fits = len <= usize::from(mtu.unwrap_or(u16::MAX));
        if down || silent || !fits { u64::from(down) } else { self.device.send(header, packet) }
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.device.poll_ready(context)
    }
}

/// Notices as text.
type Heard = Arc<Mutex<Vec<String>>>;

/// A client over a device under control, a server, and the client's notices.
fn controlled() -> (Stack, Stack, Arc<Mutex<State>>, Heard) {
    let (first, second) = pair(ETHERNET, 256);
    let state = Arc::new(Mutex::new(State::default()));
    let client = Stack::new(Controlled { device: first, state: Arc::clone(&state) }, config(CLIENT)).unwrap();
    let server = Stack::new(second, config(SERVER)).unwrap();
    let notices = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&notices);
    client.on_notice(move |notice: &Notice| heard.lock().unwrap().push(notice.to_string()));
    (client, server, state, notices)
}

async fn open(client: &Stack, server: &Stack) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(server, at(80)).unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(client, at(80)), listener.accept());
    (ours.unwrap(), theirs.unwrap().0)
}

/// Sends bytes one way while `meanwhile` runs, and returns whether they arrived.
async fn transfer(mut from: TcpStream, mut to: TcpStream, meanwhile: impl Future<Output = ()>) -> bool {
    let sent = bytes(2_000_000);
    let write = async {
        from.write_all(&sent).await.unwrap();
        from.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let (read, (), ()) = tokio::join!(to.read_to_end(&mut received), write, meanwhile);
    read.unwrap();
    received == sent
}

#[tokio::test]
async fn a_device_that_was_down_goes_on() {
    let (client, server, state, notices) = controlled();
    let (ours, theirs) = open(&client, &server).await;
    let outage = async {
        tokio::task::yield_now().await;
        state.lock().unwrap().down = true;
        tokio::time::sleep(Duration::from_millis(600)).await;
        state.lock().unwrap().down = false;
    };
    assert!(timeout(Duration::from_secs(20), transfer(ours, theirs, outage)).await.unwrap());
    let expected =
        ["the device does not work: network is down; connections wait until it does", "the device works again"];
    assert_eq!(*notices.lock().unwrap(), expected);
}

#[tokio::test]
async fn connections_follow_an_mtu_that_changes() {
    let (client, server, state, notices) = controlled();
    let (ours, theirs) = open(&client, &server).await;
    let change = async {
        tokio::task::yield_now().await;
        state.lock().unwrap().mtu = Some(600);
    };
    assert!(timeout(Duration::from_secs(20), transfer(ours, theirs, change)).await.unwrap());
    assert_eq!(*notices.lock().unwrap(), ["the device's MTU is 600 bytes now, after 1500"]);
    let (ours, _theirs) = open(&client, &server).await;
    assert!(ours.info().unwrap().snd_mss <= 560, "{:?}", ours.info());
}

#[tokio::test]
async fn a_device_that_is_gone_ends_everything() {
    let (client, server, _, notices) = controlled();
    let (mut ours, theirs) = open(&client, &server).await;
    let listener = TcpListener::bind(&client, "192.0.2.1:81".parse().unwrap()).unwrap();
    let datagrams = UdpSocket::bind(&client, "192.0.2.1:53".parse().unwrap()).unwrap();
    theirs.abort();
    drop(server);
    let over = timeout(Duration::from_secs(5), listener.accept()).await.unwrap().unwrap_err();
    assert_eq!(over.kind(), ErrorKind::BrokenPipe);
    assert!(ours.read(&mut [0; 5]).await.is_err());
    assert_eq!(datagrams.send_to(b"x", at(53)).await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(TcpStream::connect(&client, at(80)).await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(notices.lock().unwrap().len(), 1, "{notices:?}");
    assert!(notices.lock().unwrap()[0].starts_with("the device is gone: "), "{notices:?}");
}

#[tokio::test]
async fn keep_alive_and_user_timeout_end_what_a_silent_peer_left() {
    let (client, server, state, _) = controlled();
    let (mut idle, theirs) = open(&client, &server).await;
    let (mut busy, _other) = open(&client, &server).await;
    let rules = KeepAlive { idle: Duration::from_millis(50), interval: Duration::from_millis(30), probes: 3 };
    idle.set_keep_alive(Some(rules)).unwrap();
    busy.set_user_timeout(Duration::from_millis(300)).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(idle.try_read(&mut [0; 5]).unwrap_err().kind(), ErrorKind::WouldBlock, "the peer answers");
    state.lock().unwrap().silent = true;
    busy.write_all(b"never acknowledged").await.unwrap();
    for stream in [&mut idle, &mut busy] {
        let over = timeout(Duration::from_secs(5), stream.read(&mut [0; 5])).await.unwrap().unwrap_err();
        assert_eq!(over.kind(), ErrorKind::TimedOut, "{over}");
    }
    drop(theirs);
}

#[tokio::test]
async fn what_cannot_be_used_is_said_in_a_line() {
    let cases = [
        ("127.0.0.1", 1500, "address 127.0.0.1 of a stack: expected a unicast address, not of a loopback"),
        ("0.0.0.0", 1500, "address 0.0.0.0 of a stack: expected a unicast address, not of a loopback"),
        ("ff02::1", 1500, "address ff02::1 of a stack: expected a unicast address, not of a loopback"),
        ("192.0.2.1", 40, "device with an MTU of 40 bytes: expected 68 or more for the address 192.0.2.1"),
        ("2001:db8::1", 1279, "device with an MTU of 1279 bytes: expected 1280 or more for the address 2001:db8::1"),
    ];
    for (address, mtu, line) in cases {
        let (device, _other) = pair(Properties { mtu, offloads: false }, 4);
        let refused = Stack::new(device, config(address)).unwrap_err();
        assert_eq!((refused.kind(), refused.to_string()), (ErrorKind::InvalidInput, line.to_owned()));
    }
}

#[tokio::test]
async fn sockets_fail_when_nobody_runs_the_stack_any_more() {
    let (device, _other) = pair(ETHERNET, 256);
    let (stack, runner) = Stack::with_runner(device, config(CLIENT)).unwrap();
    let task = tokio::spawn(recoup_stack::tokio::run(runner));
    let connect = TcpStream::connect(&stack, at(80));
    let stop = async {
        tokio::task::yield_now().await;
        task.abort();
    };
    let (over, ()) = timeout(Duration::from_secs(3), async { tokio::join!(connect, stop) }).await.unwrap();
    assert_eq!(over.unwrap_err().kind(), ErrorKind::BrokenPipe);
    let listener = TcpListener::bind(&stack, "192.0.2.1:80".parse().unwrap());
    assert_eq!(listener.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_handler_of_notices_that_owns_the_stack_can_be_replaced() {
    let (client, _server, _, _) = controlled();
    let own = client.clone();
    client.on_notice(move |_| assert_eq!(own.connections(), 0));
    let (sender, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        client.on_notice(|_| {});
        sender.send(()).unwrap();
    });
    done.recv_timeout(Duration::from_secs(3)).unwrap();
}
