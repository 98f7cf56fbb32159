//! UDP, echoes and raw packets under tokio.

use super::*;
use recoup_stack::{PingSocket, RawSocket, UdpSocket};
use std::{io::ErrorKind, net::IpAddr, time::Duration};
use tokio::time::timeout;

#[tokio::test]
async fn datagrams_go_both_ways_whatever_their_length() {
    let (client, server) = stacks(ETHERNET);
    let theirs = UdpSocket::bind(&server, at(53)).unwrap();
    let ours = UdpSocket::bind(&client, SocketAddr::new(CLIENT.parse().unwrap(), 0)).unwrap();
    assert_eq!(ours.try_recv_from(&mut [0; 9]).unwrap_err().kind(), ErrorKind::WouldBlock);
    let mut into = vec![0; 70_000];
    for len in [0, 1, 1472, 1473, 9000, 65_507] {
        let sent = bytes(len);
        ours.send_to(&sent, at(53)).await.unwrap();
        let (count, from) = theirs.recv_from(&mut into).await.unwrap();
        assert_eq!((count, from), (len, ours.local_addr().unwrap()));
        assert!(into[..count] == sent);
        theirs.send_to(&into[..count], from).await.unwrap();
        assert_eq!(ours.recv_from(&mut into).await.unwrap(), (len, at(53)));
    }
    let long = ours.send_to(&[0; 65_508], at(53)).await.unwrap_err();
    assert_eq!(long.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn a_refused_peer_is_an_error_of_a_connected_socket() {
    let (client, _server) = stacks(ETHERNET);
    let ours = UdpSocket::bind(&client, "0.0.0.0:0".parse().unwrap()).unwrap();
    ours.connect(at(9)).unwrap();
    assert_eq!(ours.peer_addr().unwrap(), at(9));
    ours.send(b"anybody?").await.unwrap();
    let refused = ours.recv(&mut [0; 9]).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(refused.to_string(), "192.0.2.2:9: nobody listens at the peer's port");
}

#[tokio::test]
async fn any_destination_is_answered_from_its_address() {
    let (client, server) = stacks(ETHERNET);
    let any = UdpSocket::bind_any(&server).unwrap();
    let ours = UdpSocket::bind(&client, "0.0.0.0:0".parse().unwrap()).unwrap();
    let there: SocketAddr = "8.8.8.8:53".parse().unwrap();
    ours.send_to(b"where?", there).await.unwrap();
    let asked = any.recv_datagram().await.unwrap();
    assert_eq!((asked.destination, &*asked.bytes), (there, &b"where?"[..]));
    assert_eq!(any.try_recv_datagram().unwrap_err().kind(), ErrorKind::WouldBlock);
    any.send_from(b"here", asked.destination, asked.source).await.unwrap();
    any.try_send_from(b"there", asked.destination, asked.source).unwrap();
    let mut into = [0; 9];
    for answer in [b"here".to_vec(), b"there".to_vec()] {
        assert_eq!(ours.recv_from(&mut into).await.unwrap(), (answer.len(), there));
        assert!(into.starts_with(&answer));
    }
}

#[tokio::test]
async fn many_datagrams_wait_for_room() {
    let (first, second) = pair(ETHERNET, 4);
    let client = Stack::new(first, config(CLIENT)).unwrap();
    let server = Stack::new(second, config(SERVER)).unwrap();
    let theirs = UdpSocket::bind(&server, at(53)).unwrap();
    theirs.set_receive_buffer(16 << 20).unwrap();
    let ours = UdpSocket::bind(&client, "0.0.0.0:0".parse().unwrap()).unwrap();
    let send = async {
        for number in 0..2000_u32 {
            ours.send_to(&number.to_be_bytes(), at(53)).await.unwrap();
        }
    };
    let receive = async {
        let mut into = [0; 4];
        for number in 0..2000_u32 {
            theirs.recv(&mut into).await.unwrap();
            assert_eq!(u32::from_be_bytes(into), number);
        }
    };
    timeout(Duration::from_secs(5), async { tokio::join!(send, receive) }).await.unwrap();
}

#[tokio::test]
async fn echoes_come_back() {
    let (client, _server) = stacks(ETHERNET);
    let ping = PingSocket::open(&client).unwrap();
    let server: IpAddr = SERVER.parse().unwrap();
    ping.send(server, 7, b"data").await.unwrap();
    let reply = ping.recv().await.unwrap();
    assert_eq!((reply.source, reply.sequence, &*reply.data), (server, 7, &b"data"[..]));
}

#[tokio::test]
async fn packets_that_nothing_takes_are_passed_on() {
    let (client, server) = stacks(ETHERNET);
    let raw = RawSocket::open(&server, 1 << 20).unwrap();
    assert_eq!(RawSocket::open(&server, 1).unwrap_err().kind(), ErrorKind::AddrInUse);
    let other = RawSocket::open(&client, 1 << 20).unwrap();
    // A packet of GRE (protocol 47) without a payload.
    let mut gre = vec![0x45, 0, 0, 24, 0, 1, 0, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 0, 8, 0];
    let sum: u32 = gre[..20].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    gre[10..12].copy_from_slice(&sum.to_be_bytes());
    other.send(&gre).await.unwrap();
    assert_eq!(raw.recv().await.unwrap(), gre);
    drop(raw);
    RawSocket::open(&server, 1 << 20).unwrap();
}

#[tokio::test]
async fn a_sender_that_waits_for_room_does_not_spin() {
    let (device, _packets) = recoup_stack::device::channel(1500, 1);
    let stack = Stack::new(device, config(CLIENT)).unwrap();
    let socket = UdpSocket::bind(&stack, "0.0.0.0:0".parse().unwrap()).unwrap();
    let mut polls = 0;
    let send = async {
        loop {
            let full = std::future::poll_fn(|context| {
                polls += 1;
                socket.poll_send(context, None, Some(at(9)), &[0; 1400])
            });
            full.await.unwrap();
        }
    };
    assert!(timeout(Duration::from_millis(300), send).await.is_err());
    assert!(polls < 1000, "{polls} polls");
}

#[tokio::test]
async fn each_flow_to_any_destination_has_a_socket() {
    let (client, server) = stacks(ETHERNET);
    let any = UdpSocket::bind_any(&server).unwrap();
    let clients = [(); 2].map(|()| UdpSocket::bind(&client, "0.0.0.0:0".parse().unwrap()).unwrap());
    let resolvers = ["8.8.8.8:53", "9.9.9.9:53", "192.0.2.2:53"].map(|resolver| resolver.parse().unwrap());
    // All wait before the first flow is accepted; the second round belongs to the same flows.
    for round in 0..2 {
        for (ours, resolver) in clients.iter().flat_map(|ours| resolvers.map(|resolver| (ours, resolver))) {
            ours.send_to(&[round], resolver).await.unwrap();
        }
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut flows = Vec::new();
    while let Ok(accepted) = timeout(Duration::from_millis(50), any.accept()).await {
        flows.push(accepted.unwrap());
    }
    assert_eq!(flows.len(), 6);
    let mut into = [0; 9];
    for (flow, peer) in &flows {
        assert_eq!(flow.peer_addr().unwrap(), *peer);
        for round in 0..2 {
            assert_eq!(flow.recv(&mut into).await.unwrap(), 1);
            assert_eq!(into[0], round);
        }
        flow.try_send(b"here").unwrap();
        let asked = flow.local_addr().unwrap();
        let ours = clients.iter().find(|ours| ours.local_addr().unwrap().port() == peer.port()).unwrap();
        let answer = ours.recv_from(&mut into).await.unwrap();
        assert_eq!(answer, (4, asked));
    }
    // A flow that is let go of begins anew, and the others go on.
    let (flow, _) = flows.remove(0);
    let there = flow.local_addr().unwrap();
    drop(flow);
    clients[0].send_to(b"again", there).await.unwrap();
    clients[0].send_to(b"on", flows[0].0.local_addr().unwrap()).await.unwrap();
    let (flow, _) = any.accept().await.unwrap();
    assert_eq!(flow.local_addr().unwrap(), there);
    assert_eq!(flow.recv(&mut into).await.unwrap(), 5);
    assert_eq!(flows[0].0.recv(&mut into).await.unwrap(), 2);
    let bound = UdpSocket::bind(&server, at(9)).unwrap();
    assert_eq!(bound.accept().await.unwrap_err().kind(), ErrorKind::InvalidInput);
}
