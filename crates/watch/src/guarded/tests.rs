use super::*;
use recoup_trace::read::Message;
use recoup_wire::{Endpoints, Flags, SeqNumber};
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

const HEAD: &str = "{\"schema\":\"recoup.guard.log\",\"version\":1}\n";

/// Gives these packets.
struct Given(VecDeque<Packet>, Counts);

impl PacketSource for Given {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        None
    }

    fn next_into(&mut self, packet: &mut Packet) -> bool {
        self.0.pop_front().is_some_and(|next| {
            *packet = next;
            true
        })
    }

    fn counts(&self) -> &Counts {
        &self.1
    }

    fn taken(&self) -> u64 {
        0
    }

    fn size(&self) -> Option<u64> {
        None
    }

    fn name(&self) -> &str {
        "given"
    }

    fn stop(self) -> Result<Counts, ReadError> {
        Ok(self.1)
    }
}

impl Source for Given {
    fn wait(&mut self, most: Duration) -> io::Result<Vec<RingEvent>> {
        thread::sleep(most);
        Ok(Vec::new())
    }

    fn settled(&self) -> Instant {
        Instant::from_millis(9_000)
    }

    fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    fn gone(&self) -> &'static str {
        "gone"
    }

    fn take_dropped(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

/// Data that was captured at this time in ms.
fn data(at: u64) -> Packet {
    let mut packet = CapturedPacket::from(&Packet::default());
    packet.at = Instant::from_millis(at);
    packet.endpoints = Endpoints { src: "192.0.2.1:80".parse().unwrap(), dst: "192.0.2.9:40000".parse().unwrap() };
    packet.segment.seq = SeqNumber(7000);
    packet.segment.payload_len = 500;
    packet.segment.flags = Flags::ACK;
    Packet::from(&packet)
}

/// A copy of it in the log, sent at this time in ms.
fn entry(at: u64) -> String {
    format!(
        "{{\"event\":\"decided\",\"at\":{},\"kind\":\"tail\",\"act\":\"sent\",\"src\":\"192.0.2.1:80\",\"dst\":\"192.0.2.9:40000\",\"seq\":7000,\"len\":500,\"bytes\":554}}\n",
        at * 1_000_000
    )
}

/// Whether each of the next packets is a copy.
fn read(source: &mut Guarded<Given>, count: usize) -> Vec<bool> {
    let mut copies = Vec::new();
    let mut packet = Packet::default();
    let end = time::Instant::now() + Duration::from_secs(20);
    while copies.len() < count && time::Instant::now() < end {
        match source.next_into(&mut packet) {
            true => copies.push(CapturedPacket::from(&packet).message == Some(Message::Copy)),
            false => _ = source.wait(Duration::from_millis(1)).unwrap(),
        }
    }
    copies
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn packets_wait_for_the_entry_that_comes_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard.log");
    std::fs::write(&path, HEAD).unwrap();
    let given = Given([data(1_000), data(1_120)].into(), Counts::default());
    let mut source = Guarded::new(given, vec![GrowingLog::open(&path).unwrap()]).unwrap();
    let mut packet = Packet::default();
    assert!(!source.next_into(&mut packet), "it waits");
    assert_eq!(source.settled(), Instant::from_millis(1_000));
    assert!(!source.is_over());
    // A line in two pieces.
    let line = entry(1_120);
    append(&path, &line[..40]);
    append(&path, &line[40..]);
    assert_eq!(read(&mut source, 2), [false, true]);
    assert_eq!(source.settled(), Instant::from_millis(9_000));
    assert!(source.is_over());
    // A log that begins anew is read from its beginning.
    std::fs::write(folder.path().join("next"), HEAD.to_owned() + &entry(1_400)).unwrap();
    std::fs::rename(folder.path().join("next"), &path).unwrap();
    source.source.0.push_back(data(1_400));
    assert_eq!(read(&mut source, 1), [true]);
    let copies = source.stop().unwrap().copies.unwrap();
    assert_eq!((copies.logged, copies.captured, copies.packets.len()), (2, 2, 0));
}

#[test]
fn a_damaged_line_ends_the_watching() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard.log");
    std::fs::write(&path, HEAD).unwrap();
    let given = Given([data(1_000)].into(), Counts::default());
    let mut source = Guarded::new(given, vec![GrowingLog::open(&path).unwrap()]).unwrap();
    append(&path, "{\"event\":\"decided\"}\n");
    let mut packet = Packet::default();
    let end = time::Instant::now() + Duration::from_secs(20);
    while !source.next_into(&mut packet) && time::Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
    let why = source.wait(Duration::ZERO).unwrap_err().to_string();
    assert!(why.contains("guard.log: line 2: missing field"), "{why}");
}

#[test]
fn without_logs_packets_do_not_wait() {
    let given = Given([data(1_000), data(1_120)].into(), Counts::default());
    let mut source = Guarded::new(given, Vec::new()).unwrap();
    let mut packet = Packet::default();
    assert!(source.next_into(&mut packet) && source.next_into(&mut packet) && !source.next_into(&mut packet));
    assert_eq!(source.stop().unwrap().copies, None);
}
