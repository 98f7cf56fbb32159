//! What lies behind the proxy: a web server with one page, and a resolver.

use super::{PATIENCE, WEB};
use crate::host::peers::bytes;
use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
    thread,
};

/// Images of the page that load.
pub const IMAGES: usize = 12;

/// The page: images, a file with a checksum, and two images that fail.
fn page() -> String {
    let image = |i| format!("<img src='/image{i}.svg'>");
    let images: String = (0..IMAGES).map(image).collect();
    let script = "window.onload = async () => {
        const images = [...document.images];
        const large = new Uint8Array(await (await fetch('/large')).arrayBuffer());
        window.report = {
            images: images.filter((image) => image.naturalWidth > 0).length,
            failed: images.filter((image) => image.naturalWidth == 0).length,
            checksum: large.reduce((sum, byte) => (sum * 31 + byte) % 65521, 0),
        };
    };";
    format!(
        "<!doctype html><title>Page</title><link rel=icon href=data:,>{images}<img src='http://silent.test/image.svg'>\
         <img src='http://page.test:9/image.svg'><script>{script}</script>"
    )
}

/// 5 MB.
pub fn large() -> Vec<u8> {
    bytes(5, 5_000_000)
}

/// What the page's script computes.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| (sum * 31 + u64::from(*byte)) % 65521)
}

/// Serves the page from threads of the calling thread's namespace.
pub fn serve_pages(listener: TcpListener) {
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve_client(&stream));
        }
    });
}

/// Answers the requests of a connection until its client leaves.
fn serve_client(stream: &TcpStream) -> Option<()> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut lines = BufReader::new(stream).lines();
    loop {
        let head: Vec<_> = lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let path = head.first()?.split(' ').nth(1)?;
        let (kind, body) = match path {
            "/" => ("text/html", page().into_bytes()),
            "/large" => ("application/octet-stream", large()),
            _ => ("image/svg+xml", image(path)),
        };
        let last = head.iter().any(|line| line == "Connection: close");
        let close = if last { "Connection: close\r\n" } else { "" };
        let len = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n{close}\r\n");
        { stream }.write_all(&[head.as_bytes(), &body].concat()).ok()?;
        if last {
            return None;
        }
    }
}

/// An image, the longer the higher its number.
fn image(path: &str) -> Vec<u8> {
    let number: usize = path.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
    let dots: String = (0..1 << number).map(|i| format!("<circle cx='{}' cy='9' r='3'/>", i % 99)).collect();
    format!("<svg xmlns='http://www.w3.org/2000/svg' width='99' height='20'>{dots}</svg>").into_bytes()
}

/// Answers questions about addresses (RFC 1035 §4.1): it has `page.test`, and is silent about `silent.test`.
pub fn serve_names(socket: UdpSocket) {
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((count, client)) = socket.recv_from(&mut buffer) {
            if let Some(answer) = answer(&buffer[..count]) {
                socket.send_to(&answer, client).unwrap();
            }
        }
    });
}

fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let end = 12 + question.get(12..)?.iter().position(|byte| *byte == 0)? + 5;
    let (asked, kind) = (question.get(12..end)?, question.get(end - 4..end - 2)?);
    let known = asked.starts_with(b"\x04page\x04test\x00");
    if asked.starts_with(b"\x06silent\x04test\x00") {
        return None;
    }
    let address = known && kind == [0, 1];
    // An answer, recursion available; the question; no record, or an address for a minute. Other names do not exist.
    let flags = [0x81, if known { 0x80 } else { 0x83 }];
    let mut answer = [&question[..2], &flags, &[0, 1, 0, u8::from(address), 0, 0, 0, 0], asked].concat();
    if address {
        answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend_from_slice(&WEB.octets());
    }
    Some(answer)
}

/// The question for the IPv4 address of a name.
pub fn question(name: &str) -> Vec<u8> {
    let mut question = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        question.push(label.len() as u8);
        question.extend_from_slice(label.as_bytes());
    }
    question.extend_from_slice(&[0, 0, 1, 0, 1]);
    question
}

/// The address at the end of an answer of one record.
pub fn address_in(answer: &[u8]) -> Option<Ipv4Addr> {
    let (_, address) = answer.split_last_chunk::<4>()?;
    (answer[7] == 1).then(|| Ipv4Addr::from(*address))
}
