use super::*;
use recoup_wire::{Flags, SackBlocks};

#[test]
fn each_packet_has_a_line() {
    let entry = PacketRecord {
        direction: Direction::Up,
        number: 3,
        arrival: Instant::from_nanos(5),
        outcome: PacketOutcome::Unfinished,
        len: 40,
        flow: FlowId(0),
        tcp: None,
        damaged: false,
    };
    let (due, departure) = (Instant::from_nanos(7), Instant::from_nanos(8));
    let tcp = Some(Tcp { seq: 1, ack: 2, payload_len: 0, flags: Flags::SYN | Flags::ACK, sack: SackBlocks::NONE });
    let log = PacketLog::start(Vec::new()).unwrap();
    let sender = log.sender();
    for (outcome, tcp) in [
        (PacketOutcome::Delivered { due, departure }, tcp),
        (PacketOutcome::Dropped { due, cause: DropCause::Loss }, None),
        (PacketOutcome::Refused { due }, None),
        (PacketOutcome::Unfinished, None),
    ] {
        sender.send(PacketRecord { outcome, tcp, ..entry }).unwrap();
    }
    drop(sender);
    let text = String::from_utf8(log.finish().unwrap()).unwrap();
    let start = r#"{"direction":"up","packet":3,"arrival":5,"#;
    let tcp = r#""tcp":{"connection":1,"seq":1,"ack":2,"payload":0,"flags":"[S.]"}"#;
    let expected = [
        format!(r#"{start}"due":7,"departure":8,"fate":"delivered","len":40,{tcp}}}"#),
        format!(r#"{start}"due":7,"departure":null,"fate":"loss","len":40}}"#),
        format!(r#"{start}"due":7,"departure":null,"fate":"refused","len":40}}"#),
        format!(r#"{start}"due":null,"departure":null,"fate":"unfinished","len":40}}"#),
    ];
    let lines = text.strip_prefix(str::from_utf8(HEADER).unwrap()).unwrap();
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = PacketLog::start(Full).unwrap();
    let record = PacketRecord {
        direction: Direction::Down,
        number: 1,
        arrival: Instant::ZERO,
        outcome: PacketOutcome::Unfinished,
        len: 1,
        flow: FlowId(0),
        tcp: None,
        damaged: false,
    };
    log.sender().send(record).unwrap();
    let error = log.finish().err().map(|e| e.kind());
    assert_eq!(error, Some(io::ErrorKind::StorageFull));
}
