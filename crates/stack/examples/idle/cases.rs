//! What is measured.

use crate::peer::{ANSWER, Peers, REQUEST, SERVER, peer};
use recoup_stack::{
    Config, Stack, TcpListener, TcpStream, Turn, blocking,
    device::{Parking, Wait},
    host::{ConnectionId, Host, Read as Taken, Secret},
};
use recoup_units::Instant;
use std::{
    any::Any,
    error::Error,
    io::{self, Read, Write},
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// Opens so many connections, and returns what keeps them.
type Open = fn(u32) -> Result<Box<dyn Any>, Box<dyn Error>>;

pub struct Case {
    pub name: &'static str,
    pub open: Open,
}

pub const ALL: &[Case] = &[
    Case { name: "host, accepted, a request", open: |count| host_accepts(count, true) },
    Case { name: "host, accepted, no data", open: |count| host_accepts(count, false) },
    Case { name: "host, connected, a request", open: |count| host_connects(count, true) },
    Case { name: "host, connected, no data", open: |count| host_connects(count, false) },
    Case { name: "streams, accepted, a request", open: |count| streams_accept(count, true, false) },
    Case { name: "streams, accepted, no data", open: |count| streams_accept(count, false, false) },
    Case { name: "streams, accepted, each read awaited", open: |count| streams_accept(count, true, true) },
    Case { name: "streams, connected, a request", open: streams_connect },
    Case { name: "blocking, accepted, a request", open: blocking_accept },
    Case { name: "blocking, connected, a request", open: blocking_connect },
];

fn config(connections: u32) -> Config {
    let mut config = Config::new([SERVER.ip()]);
    config.most_connections = connections as usize + 1;
    config.memory = connections as usize * 16_000 + (64 << 20);
    config
}

/// Exchanges packets until there are none. An hour later timers have gone off, too.
fn settle(host: &mut Host, now: Instant, peers: &mut Peers) {
    for now in [now, now + Duration::from_secs(3600)] {
        host.on_timer(now);
        loop {
            let more = host.poll_transmit(now, &mut |packet: &[u8]| peers.answer(packet));
            match peers.take() {
                Some(packet) => host.on_packet(now, &packet, &mut |packet: &[u8]| peers.answer(packet)),
                None if !more => break,
                None => {}
            }
        }
        while host.next_event().is_some() {}
    }
}

fn host_accepts(connections: u32, asks: bool) -> Result<Box<dyn Any>, Box<dyn Error>> {
    let mut host = Host::new(config(connections), 1500, Secret::from_key([7; 16]));
    let listener = host.listen(SERVER)?;
    let mut peers = Peers { asks, ..Peers::default() };
    let (mut now, mut accepted) = (Instant::ZERO, Vec::<ConnectionId>::new());
    while (accepted.len() as u32) < connections {
        peers.until.store((peers.next + 100).min(connections), Ordering::Relaxed);
        settle(&mut host, now, &mut peers);
        let before = accepted.len();
        while let Some(id) = host.accept(listener) {
            accepted.push(id);
        }
        if accepted.len() == before {
            return Err("a connection does not open".into());
        }
        for id in &accepted[before..] {
            let mut into = [0; REQUEST as usize];
            if asks && host.read(now, *id, &mut into)? == Taken::Bytes(into.len()) {
                host.write(now, *id, &[0; ANSWER as usize])?;
            }
        }
        settle(&mut host, now, &mut peers);
        now += Duration::from_secs(3601);
    }
    Ok(Box::new((host, accepted)))
}

fn host_connects(connections: u32, asks: bool) -> Result<Box<dyn Any>, Box<dyn Error>> {
    let mut host = Host::new(config(connections), 1500, Secret::from_key([7; 16]));
    let mut peers = Peers::default();
    let (mut now, mut all) = (Instant::ZERO, Vec::<ConnectionId>::new());
    for number in 0..connections {
        let id = host.connect(now, peer(number))?;
        settle(&mut host, now, &mut peers);
        if asks {
            host.write(now, id, &[0; REQUEST as usize])?;
            settle(&mut host, now, &mut peers);
            host.read(now, id, &mut [0; ANSWER as usize])?;
            settle(&mut host, now, &mut peers);
        }
        now += Duration::from_secs(7201);
        all.push(id);
    }
    Ok(Box::new((host, all)))
}

/// Waits until `poll` is ready, in this thread, which runs the stack meanwhile.
fn wait<T>(
    runner: &mut recoup_stack::Runner<Peers>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>,
) -> io::Result<T> {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = poll(&mut context) {
            return result;
        }
        if runner.turn(&mut context) == Turn::Over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
    }
}

fn streams_accept(connections: u32, asks: bool, waits: bool) -> Result<Box<dyn Any>, Box<dyn Error>> {
    let (stack, mut runner) = Stack::with_runner(Peers { asks, ..Peers::default() }, config(connections))?;
    let listener = TcpListener::bind(&stack, SERVER)?;
    let mut streams = Vec::<TcpStream>::new();
    for number in 0..connections {
        runner.device().until.store(number + 1, Ordering::Relaxed);
        let (stream, _) = wait(&mut runner, |context| listener.poll_accept(context))?;
        if asks {
            let mut into = [0; REQUEST as usize];
            wait(&mut runner, |context| stream.poll_read(context, &mut into))?;
            wait(&mut runner, |context| stream.poll_write(context, &[0; ANSWER as usize]))?;
        }
        streams.push(stream);
    }
    rest(&mut runner);
    if waits {
        let mut context = Context::from_waker(Waker::noop());
        let ready = |stream: &TcpStream| stream.poll_read(&mut context, &mut [0]).is_ready();
        if streams.iter().any(ready) {
            return Err("a connection does not rest".into());
        }
    }
    Ok(Box::new((stack, runner, listener, streams)))
}

/// Runs the stack until no timer is left: delayed ACKs and what follows them have gone.
fn rest(runner: &mut recoup_stack::Runner<Peers>) {
    while runner.turn(&mut Context::from_waker(Waker::noop())) != Turn::Wait(None) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn streams_connect(connections: u32) -> Result<Box<dyn Any>, Box<dyn Error>> {
    let (stack, mut runner) = Stack::with_runner(Peers::default(), config(connections))?;
    let mut streams = Vec::<TcpStream>::new();
    for number in 0..connections {
        let mut connecting = Box::pin(TcpStream::connect(&stack, peer(number)));
        let stream = wait(&mut runner, |context| connecting.as_mut().poll(context))?;
        wait(&mut runner, |context| stream.poll_write(context, &[0; REQUEST as usize]))?;
        let mut into = [0; ANSWER as usize];
        wait(&mut runner, |context| stream.poll_read(context, &mut into))?;
        streams.push(stream);
    }
    rest(&mut runner);
    Ok(Box::new((stack, runner, streams)))
}

fn blocking_accept(connections: u32) -> Result<Box<dyn Any>, Box<dyn Error>> {
    let peers = Peers { asks: true, ..Peers::default() };
    let until = Arc::clone(&peers.until);
    let device = Parking::new(peers);
    let waker = device.waker();
    let stack = blocking::Stack::new(device, config(connections))?;
    let listener = blocking::TcpListener::bind(&stack, SERVER)?;
    let mut streams = Vec::<blocking::TcpStream>::new();
    for number in 0..connections {
        // No SYN may come before there is a listener.
        until.store(number + 1, Ordering::Relaxed);
        waker.wake_by_ref();
        let (mut stream, _): (_, SocketAddr) = listener.accept()?;
        stream.read_exact(&mut [0; REQUEST as usize])?;
        stream.write_all(&[0; ANSWER as usize])?;
        streams.push(stream);
    }
    // Delayed ACKs and what follows them go.
    std::thread::sleep(Duration::from_millis(500));
    Ok(Box::new((stack, listener, streams)))
}

fn blocking_connect(connections: u32) -> Result<Box<dyn Any>, Box<dyn Error>> {
    let stack = blocking::Stack::new(Parking::new(Peers::default()), config(connections))?;
    let mut streams = Vec::<blocking::TcpStream>::new();
    for number in 0..connections {
        let mut stream = blocking::TcpStream::connect(&stack, peer(number))?;
        stream.write_all(&[0; REQUEST as usize])?;
        stream.read_exact(&mut [0; ANSWER as usize])?;
        streams.push(stream);
    }
    // Delayed ACKs and what follows them go.
    std::thread::sleep(Duration::from_millis(500));
    Ok(Box::new((stack, streams)))
}
