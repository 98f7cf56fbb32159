//! Stacks with the same addresses over the queues of one device.

use crate::{CLIENT, ETHERNET, SERVER, at, bytes, config};
use recoup_stack::{
    Stack, TcpListener, TcpStream, VnetHeader,
    device::{Batch, Device, PairDevice, Properties, pair},
};
use std::{
    io,
    task::{Context, Poll},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A device whose packets go to several others in turn, whatever connection they are of.
struct Scatter {
    queues: Vec<PairDevice>,
    next: usize,
}

impl Device for Scatter {
    fn properties(&mut self) -> Properties {
        ETHERNET
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.queues.iter_mut().try_for_each(|queue| queue.receive(batch))
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        self.next = (self.next + 1) % self.queues.len();
        self.queues[self.next].send(header, packet)
    }

    fn room(&self) -> usize {
        self.queues.iter().map(Device::room).min().unwrap_or(0)
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let ready = self.queues.iter_mut().filter_map(|queue| queue.poll_ready(context).is_ready().then_some(()));
        if ready.count() > 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// A client's stack and a group of servers' stacks.
fn stacks(count: usize) -> (Stack, Vec<Stack>) {
    let (near, far) = (0..count).map(|_| pair(ETHERNET, 256)).unzip();
    let client = Stack::new(Scatter { queues: near, next: 0 }, config(CLIENT)).unwrap();
    (client, Stack::group(far, &config(SERVER)).unwrap())
}

/// Both ends of a connection send each other a stream.
async fn trade(mut ours: TcpStream, mut theirs: TcpStream) {
    let (up, down) = (bytes(300_000), bytes(200_000));
    let (sent_up, sent_down) = (up.clone(), down.clone());
    let far = tokio::spawn(async move {
        let (mut reader, mut writer) = theirs.split();
        let mut received = vec![0; up.len()];
        let (read, written) = tokio::join!(reader.read_exact(&mut received), writer.write_all(&sent_down));
        read.and(written.map(|()| 0)).unwrap();
        assert!(received == up);
    });
    let (mut reader, mut writer) = ours.split();
    let mut received = vec![0; down.len()];
    let (read, written) = tokio::join!(reader.read_exact(&mut received), writer.write_all(&sent_up));
    read.and(written.map(|()| 0)).unwrap();
    assert!(received == down);
    far.await.unwrap();
}

#[tokio::test]
async fn packets_reach_their_connection_whatever_queue_they_come_to() {
    for count in 1..4 {
        let (client, servers) = stacks(count);
        let theirs = TcpListener::bind(&client, format!("{CLIENT}:80").parse().unwrap()).unwrap();
        for server in &servers {
            let (ours, accepted) =
                tokio::join!(TcpStream::connect(server, theirs.local_addr().unwrap()), theirs.accept());
            trade(ours.unwrap(), accepted.unwrap().0).await;
        }
        let strays: u64 = servers.iter().map(|server| server.stats().strays).sum();
        assert_eq!(strays > 0, count > 1, "{count} stacks");
    }
}

#[tokio::test]
async fn one_listener_of_a_group_takes_all_connections() {
    let (client, servers) = stacks(3);
    let listener = TcpListener::bind(&servers[2], at(80)).unwrap();
    for _ in 0..4 {
        let (ours, accepted) = tokio::join!(TcpStream::connect(&client, at(80)), listener.accept());
        trade(ours.unwrap(), accepted.unwrap().0).await;
    }
}

#[tokio::test]
async fn a_group_refuses_what_none_of_its_stacks_takes() {
    let (client, _servers) = stacks(3);
    let refused = TcpStream::connect(&client, at(9)).await;
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}
