//! Many connections that end at once, and readers that never read.

use super::*;
use recoup_stack::{TcpListener, TcpOptions, TcpStream};
use std::{
    io::{self, ErrorKind},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Handle,
    task::JoinSet,
    time::timeout,
};

/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(30);

const MANY: usize = 10_000;

/// A listener with room for all connections at once.
fn listen(server: &Stack) -> TcpListener {
    let options = TcpOptions { backlog: MANY, ..TcpOptions::default() };
    TcpListener::bind_with(server, at(80), &options).unwrap()
}

/// Opens many connections, all of them at the same time, from both their ends.
async fn open_many(client: &Stack, listener: &TcpListener) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let mut opening = JoinSet::new();
    for _ in 0..MANY {
        let client = client.clone();
        opening.spawn(async move { TcpStream::connect(&client, at(80)).await.unwrap() });
    }
    let accept = async {
        let mut accepted = Vec::new();
        while accepted.len() < MANY {
            accepted.push(listener.accept().await.unwrap().0);
        }
        accepted
    };
    timeout(PATIENCE, async { tokio::join!(opening.join_all(), accept) }).await.unwrap()
}

/// Nothing is left of the connections, and the next one works.
async fn assert_over(client: &Stack, server: &Stack, listener: &TcpListener) {
    for stack in [client, server] {
        timeout(PATIENCE, stack.finished()).await.unwrap();
        assert_eq!((stack.connections(), stack.memory(), stack.time_waits()), (0, 0, 0));
    }
    // The tasks of both stacks.
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 2);
    let (mut ours, theirs) =
        tokio::join!(async { TcpStream::connect(client, at(80)).await.unwrap() }, listener.accept());
    let (mut theirs, _) = theirs.unwrap();
    ours.write_all(b"next").await.unwrap();
    let mut read = [0; 4];
    theirs.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"next");
}

#[tokio::test]
async fn ten_thousand_connections_that_one_side_aborts_leave_nothing() {
    let (client, server) = stacks(ETHERNET);
    let listener = listen(&server);
    let (ours, theirs) = open_many(&client, &listener).await;
    assert_eq!((client.connections(), server.connections()), (MANY, MANY));
    let mut readers = JoinSet::new();
    for mut stream in theirs {
        readers.spawn(async move { stream.read(&mut [0; 1]).await.map_err(|error| error.kind()) });
    }
    tokio::task::yield_now().await;
    ours.into_iter().for_each(TcpStream::abort);
    let reads = timeout(PATIENCE, readers.join_all()).await.unwrap();
    assert!(reads.iter().all(|read| *read == Err(ErrorKind::ConnectionReset)));
    assert_over(&client, &server, &listener).await;
}

#[tokio::test]
async fn ten_thousand_connections_that_both_sides_abort_leave_nothing() {
    let (client, server) = stacks(ETHERNET);
    let listener = listen(&server);
    let (mut ours, mut theirs) = open_many(&client, &listener).await;
    // Half of them have data on the way, which nobody reads.
    for stream in ours.iter_mut().chain(&mut theirs).step_by(2) {
        stream.write_all(&[7; 3000]).await.unwrap();
    }
    ours.into_iter().zip(theirs).for_each(|(ours, theirs)| {
        ours.abort();
        theirs.abort();
    });
    assert_over(&client, &server, &listener).await;
}

#[tokio::test]
async fn ten_thousand_attempts_that_are_dropped_leave_nothing() {
    let (client, server) = stacks(ETHERNET);
    let listener = listen(&server);
    // Dropped before the SYN goes out, while the answer is on its way, and when both ends are open.
    for turns in [0, 1, 2, 4, 8, 16] {
        let mut opening = JoinSet::new();
        for _ in 0..MANY / 6 {
            let client = client.clone();
            opening.spawn(async move { TcpStream::connect(&client, at(80)).await });
        }
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        timeout(PATIENCE, opening.shutdown()).await.unwrap();
        // Some were open at the server for a moment.
        timeout(PATIENCE, client.finished()).await.unwrap();
        while let Ok(accepted) = timeout(Duration::from_millis(20), listener.accept()).await {
            drop(accepted.unwrap());
        }
    }
    // They are forgotten without a trace: a peer that was aborted in its handshake resets what comes late.
    timeout(PATIENCE, server.finished()).await.unwrap();
    drop(listener);
    let listener = listen(&server);
    let time_waits = client.time_waits() + server.time_waits();
    assert!(time_waits <= MANY, "{time_waits}");
    assert_eq!((client.connections(), client.memory()), (0, 0));
    let (ours, theirs) = tokio::join!(TcpStream::connect(&client, at(80)), listener.accept());
    assert!(ours.is_ok() && theirs.is_ok());
}

#[tokio::test]
async fn a_reader_that_never_reads_holds_up_nobody_else() {
    const MEMORY: usize = 8 << 20;
    const READERS: usize = 100;
    const LENGTH: usize = 300_000;
    let (first, second) = pair(ETHERNET, 256);
    let stack = |device, address| Stack::new(device, Config { memory: MEMORY, ..config(address) }).unwrap();
    let (client, server) = (stack(first, CLIENT), stack(second, SERVER));
    let listener = listen(&server);
    let connect = async || {
        let (ours, theirs) = tokio::join!(TcpStream::connect(&client, at(80)), listener.accept());
        (ours.unwrap(), theirs.unwrap().0)
    };
    // One writer has patience, one has not.
    let (mut patient, mut sleeper) = connect().await;
    let (mut impatient, _never) = connect().await;
    impatient.set_user_timeout(Duration::from_millis(1000)).unwrap();
    let sent = bytes(20 << 20);
    let patient_writes = {
        let sent = sent.clone();
        tokio::spawn(async move {
            patient.write_all(&sent).await.unwrap();
            patient.shutdown().await
        })
    };
    let impatient_writes = tokio::spawn(async move { impatient.write_all(&sent).await });
    let mut others = JoinSet::new();
    for _ in 0..READERS {
        let (mut ours, mut theirs) = connect().await;
        others.spawn(async move {
            let sent = bytes(LENGTH);
            let mut received = Vec::new();
            let write = async {
                ours.write_all(&sent).await?;
                ours.shutdown().await
            };
            let (read, written) = tokio::join!(theirs.read_to_end(&mut received), write);
            written.and(read).map(|_| received == sent)
        });
    }
    let watch = async {
        let mut most = 0;
        while let Some(whole) = others.join_next().await {
            assert!(whole.unwrap().unwrap());
            most = most.max(client.memory()).max(server.memory());
        }
        most
    };
    let most = timeout(PATIENCE, watch).await.unwrap();
    assert!(most <= MEMORY, "{most} bytes");
    let over: io::Result<()> = timeout(PATIENCE, impatient_writes).await.unwrap().unwrap();
    assert_eq!(over.unwrap_err().kind(), ErrorKind::TimedOut);
    // The reader wakes up, and everything is there.
    assert!(!patient_writes.is_finished());
    let mut received = Vec::new();
    timeout(PATIENCE, sleeper.read_to_end(&mut received)).await.unwrap().unwrap();
    assert!(received == bytes(20 << 20));
    patient_writes.await.unwrap().unwrap();
}
