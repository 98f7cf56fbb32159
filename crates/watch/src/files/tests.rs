use super::*;
use recoup_wire::pcap::Writer;
use std::fs;
use std::io::Write;
use std::time;

/// A capture of raw IP packets: ACKs with these times in ms.
fn capture(times: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Duration::ZERO).unwrap();
    for at in times {
        let ack: [u8; 40] = [
            0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0,
            0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0,
        ];
        writer.write(Instant::from_millis(*at), &ack).unwrap();
    }
    writer.finish().unwrap()
}

/// The times in ms and the frames of the next packets.
fn read(source: &mut FolderSource, count: usize) -> Vec<(u64, u64)> {
    let end = time::Instant::now() + Duration::from_secs(20);
    let mut packets = Vec::new();
    let mut packet = Packet::default();
    while packets.len() < count && time::Instant::now() < end {
        match source.next_into(&mut packet) {
            true => packets.push((packet.at.as_nanos() / 1_000_000, packet.frame)),
            false => drop(source.wait(Duration::from_millis(20)).unwrap()),
        }
    }
    packets
}

#[test]
fn files_are_read_in_order_and_the_last_as_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // The order of names is not that of time.
    fs::write(path("z.pcap"), capture(&[1, 2])).unwrap();
    thread::sleep(Duration::from_millis(20));
    let [whole, begun] = [capture(&[3, 4]), capture(&[3])];
    let mut growing = File::create(path("a.pcap")).unwrap();
    growing.write_all(&whole[..begun.len() + 7]).unwrap();
    let mut source = FolderSource::open(folder.path()).unwrap();
    assert_eq!(read(&mut source, 3), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(source.settled(), Instant::from_millis(3));
    growing.write_all(&whole[begun.len() + 7..]).unwrap();
    assert_eq!(read(&mut source, 1), [(4, 4)]);
    thread::sleep(Duration::from_millis(20));
    // The first file of the ring is written again.
    fs::write(path("z.pcap"), capture(&[5])).unwrap();
    assert_eq!(read(&mut source, 1), [(5, 5)]);
    assert!(!source.is_over());
    assert_eq!(source.counts().frames, 5, "with those of the file that may still grow");
}

#[test]
fn what_is_no_capture_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "no capture").unwrap();
    thread::sleep(Duration::from_millis(20));
    fs::write(folder.path().join("a.pcap"), capture(&[7])).unwrap();
    let mut source = FolderSource::open(folder.path()).unwrap();
    assert_eq!(read(&mut source, 1), [(7, 1)]);
    assert!(FolderSource::open(&folder.path().join("a.pcap")).is_err());
}
