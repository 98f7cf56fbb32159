//! A SOCKS5 proxy without authentication (RFC 1928): streams, and datagrams.

use super::PATIENCE;
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// Serves all clients from threads of the calling thread's namespace.
pub fn serve(listener: TcpListener) {
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client may leave at any time.
            thread::spawn(move || serve_one(stream).ok());
        }
    });
}

fn read<const N: usize>(mut stream: &TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The methods, one request, and what it asks for.
fn serve_one(stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let [version, methods] = read(&stream)?;
    let mut offered = vec![0; methods.into()];
    (&stream).read_exact(&mut offered)?;
    assert!(version == 5 && offered.contains(&0), "{version} {offered:?}");
    (&stream).write_all(&[5, 0])?;
    let [version, command, reserved, kind] = read(&stream)?;
    assert_eq!((version, reserved, kind), (5, 0, 1), "a request with an IPv4 address");
    let target = SocketAddrV4::new(Ipv4Addr::from(read::<4>(&stream)?), u16::from_be_bytes(read(&stream)?));
    match command {
        1 => connect(stream, target),
        3 => associate(&stream),
        other => panic!("command {other}"),
    }
}

fn reply(mut stream: &TcpStream, code: u8, bound: SocketAddr) -> io::Result<()> {
    let SocketAddr::V4(bound) = bound else { panic!("an IPv4 address") };
    let mut reply = vec![5, code, 0, 1];
    reply.extend_from_slice(&bound.ip().octets());
    reply.extend_from_slice(&bound.port().to_be_bytes());
    stream.write_all(&reply)
}

/// Connects, and copies both ways.
fn connect(near: TcpStream, target: SocketAddrV4) -> io::Result<()> {
    let far = match TcpStream::connect_timeout(&target.into(), PATIENCE) {
        Ok(far) => far,
        Err(error) => {
            let code = match error.kind() {
                ErrorKind::ConnectionRefused => 5,
                ErrorKind::HostUnreachable => 4,
                ErrorKind::NetworkUnreachable => 3,
                _ => 1,
            };
            return reply(&near, code, "0.0.0.0:0".parse().unwrap());
        }
    };
    reply(&near, 0, far.local_addr()?)?;
    near.set_read_timeout(None)?;
    let (near_copy, far_copy) = (near.try_clone()?, far.try_clone()?);
    thread::spawn(move || copy(&near_copy, &far_copy));
    copy(&far, &near);
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // Either may be reset.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// Relays datagrams until the client closes its stream.
fn associate(stream: &TcpStream) -> io::Result<()> {
    let SocketAddr::V4(near_address) = stream.local_addr()? else { panic!("an IPv4 address") };
    let near = UdpSocket::bind((*near_address.ip(), 0))?;
    let far = UdpSocket::bind("0.0.0.0:0")?;
    let over = Arc::new(AtomicBool::new(false));
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    }
    reply(stream, 0, near.local_addr()?)?;
    let watched = Arc::clone(&over);
    thread::spawn(move || relay(&near, &far, &watched));
    stream.set_read_timeout(None)?;
    // The end of the stream, or an error, ends the association.
    let _ = read::<1>(stream);
    over.store(true, Relaxed);
    Ok(())
}

/// Takes the header off the client's datagrams, and puts it before the answers (RFC 1928 §7).
fn relay(near: &UdpSocket, far: &UdpSocket, over: &AtomicBool) {
    let mut buffer = [0; 2000];
    while !over.load(Relaxed) {
        let Ok((count, client)) = near.recv_from(&mut buffer) else { continue };
        let [0, 0, 0, 1, a, b, c, d, high, low, ref data @ ..] = buffer[..count] else {
            panic!("{:?}", &buffer[..count])
        };
        let target = SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low]));
        far.send_to(data, target).unwrap();
        // Each client of the tests waits for an answer before it asks again.
        while let Ok((count, SocketAddr::V4(sender))) = far.recv_from(&mut buffer) {
            let header = [&[0, 0, 0, 1], &sender.ip().octets()[..], &sender.port().to_be_bytes()].concat();
            near.send_to(&[&header, &buffer[..count]].concat(), client).unwrap();
        }
    }
}
