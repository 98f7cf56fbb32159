//! Connections to any address, and decisions about SYNs.

use super::*;
use futures_util::StreamExt;
use recoup_stack::{TcpListener, TcpOptions, TcpStream};
use std::{io::ErrorKind, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

#[tokio::test]
async fn every_destination_is_accepted() {
    let (client, server) = stacks(ETHERNET);
    let listener = server.accept_any().unwrap();
    assert_eq!(listener.local_addr().unwrap(), "0.0.0.0:0".parse().unwrap());
    assert_eq!(server.accept_any().unwrap_err().kind(), ErrorKind::AddrInUse);
    for to in ["203.0.113.9:443", "8.8.8.8:53", "192.0.2.2:1"] {
        let to: SocketAddr = to.parse().unwrap();
        let (ours, theirs) = tokio::join!(TcpStream::connect(&client, to), listener.accept());
        let (mut ours, (mut theirs, peer)) = (ours.unwrap(), theirs.unwrap());
        assert_eq!((theirs.local_addr().unwrap(), peer), (to, ours.local_addr().unwrap()));
        theirs.write_all(b"hi").await.unwrap();
        drop(theirs);
        let mut received = String::new();
        ours.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "hi");
    }
}

#[tokio::test]
async fn the_application_decides_before_the_handshake() {
    let (client, server) = stacks(ETHERNET);
    let options = TcpOptions { decide_first: true, ..TcpOptions::default() };
    let listener = server.accept_any_with(&options).unwrap();
    let to = |text: &str| -> SocketAddr { text.parse().unwrap() };

    let connect = TcpStream::connect(&client, to("203.0.113.9:443"));
    let accept = async {
        let incoming = listener.incoming().await.unwrap();
        assert_eq!(incoming.local_addr(), to("203.0.113.9:443"));
        // Connecting elsewhere may take a while.
        tokio::time::sleep(Duration::from_millis(30)).await;
        incoming.accept().await.unwrap()
    };
    let (ours, theirs) = tokio::join!(connect, accept);
    assert_eq!(ours.unwrap().local_addr().unwrap(), theirs.peer_addr().unwrap());

    let connect = TcpStream::connect(&client, to("203.0.113.9:25"));
    let refuse = async { listener.incoming().await.unwrap().refuse() };
    let (ours, ()) = tokio::join!(connect, refuse);
    assert_eq!(ours.unwrap_err().kind(), ErrorKind::ConnectionRefused);

    let connect = timeout(Duration::from_millis(100), TcpStream::connect(&client, to("203.0.113.9:26")));
    let ignore = async { listener.incoming().await.unwrap().ignore() };
    let (ours, ()) = tokio::join!(connect, ignore);
    assert!(ours.is_err());
}

#[tokio::test]
async fn a_listener_is_a_stream_of_connections() {
    let (client, server) = stacks(ETHERNET);
    let mut listener = recoup_stack::TcpListener::bind(&server, at(80)).unwrap();
    let (ours, accepted) = tokio::join!(TcpStream::connect(&client, at(80)), listener.next());
    assert_eq!(ours.as_ref().unwrap().local_addr().unwrap(), accepted.unwrap().1);
    // The other end of the device goes with the last socket.
    drop((ours, client));
    assert!(timeout(Duration::from_secs(5), listener.next()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_dropped_listener_resets_whom_nobody_accepted() {
    let (client, server) = stacks(ETHERNET);
    let listener = recoup_stack::TcpListener::bind(&server, at(80)).unwrap();
    let mut ours = TcpStream::connect(&client, at(80)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    drop(listener);
    assert_eq!(ours.read(&mut [0; 1]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(TcpStream::connect(&client, at(80)).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn streams_outlive_the_listener_that_takes_any() {
    let (client, server) = stacks(ETHERNET);
    let listener = server.accept_any().unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(&client, "8.8.8.8:53".parse().unwrap()), listener.accept());
    let (mut ours, mut theirs) = (ours.unwrap(), theirs.unwrap().0);
    drop(listener);
    let exchange = async {
        ours.write_all(b"hi").await.unwrap();
        let mut received = [0; 2];
        theirs.read_exact(&mut received).await.unwrap();
        received
    };
    assert_eq!(timeout(Duration::from_secs(3), exchange).await.unwrap(), *b"hi");
}

#[tokio::test]
async fn connections_are_split_among_options_and_keep_theirs() {
    let (client, server) = stacks(ETHERNET);
    let listener = TcpListener::bind(&server, at(80)).unwrap();
    assert!(listener.split_among(&[]).is_err());
    let small = TcpOptions { max_segment: Some(500), ..TcpOptions::default() };
    let large = TcpOptions { max_segment: Some(1000), ..small };
    listener.split_among(&[small, large]).unwrap();
    let mut counts = [0; 2];
    for round in 0..200 {
        let (ours, theirs) = tokio::join!(TcpStream::connect(&client, at(80)), listener.accept());
        let (ours, (theirs, _)) = (ours.unwrap(), theirs.unwrap());
        let choice = listener.choice(&theirs);
        counts[choice] += 1;
        let announced = theirs.info().unwrap().advmss;
        assert_eq!(announced, [500, 1000][choice], "in round {round}");
        assert_eq!(ours.info().unwrap().snd_mss, announced - 12, "without timestamps");
        ours.abort();
        theirs.abort();
    }
    assert!(counts.iter().all(|count| (60..=140).contains(count)), "{counts:?}");
    listener.split_among(&[large]).unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(&client, at(80)), listener.accept());
    assert_eq!((listener.choice(&theirs.unwrap().0), ours.unwrap().info().unwrap().snd_mss), (0, 988));
}
