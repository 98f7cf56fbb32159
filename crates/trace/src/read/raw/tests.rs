use super::super::tests::made::*;
use super::*;

fn records(file: &[u8]) -> (Vec<String>, Counts) {
    let mut found = Vec::new();
    let reader = RawReader::new("x", file).unwrap();
    let counts = reader.each(|record, _| {
        found.push(match record {
            RawRecord::Frame(frame) => {
                let content = frame.content.map_or_else(|reason| reason.to_string(), |p| p.segment.to_string());
                format!("{} of {} at {}: {content}", frame.data.len(), frame.on_wire, frame.at.as_nanos())
            }
            other => format!("{other:?}"),
        });
        Ok(())
    });
    (found, counts.unwrap())
}

#[test]
fn every_record_is_given_with_its_bytes() {
    let packets = packets(2);
    let dropped = option(Big, 5, &7_u64.to_be_bytes());
    let statistics = block(Big, 5, &[&[0; 12][..], &dropped].concat());
    let file = [
        plain(&packets[..1]),
        sections(Big, RAW as u16, &packets[1..]),
        block(Big, 0x0bad, &[0, 0, 0, 9, 1, 2, 3, 4]),
        statistics,
    ];
    let (found, counts) = records(&file.concat());
    assert_eq!(found[0], "Classic(101)");
    assert!(found[1].starts_with("152 of 152 at 1000000000000000000: "), "{found:?}");
    assert_eq!(found[2..4], ["Section", "Interface(101)"]);
    assert!(found[4].starts_with("172 of 172 at 1000000000000000000: "), "{found:?}");
    assert_eq!(found[5..], ["NoFrame(NotPacket)", "Dropped(0, 7)"]);
    assert_eq!((counts.frames, counts.packets, counts.dropped), (3, 2, Some(7)));
}

#[test]
fn the_first_error_ends_the_reading() {
    let file = plain(&packets(5));
    let reader = RawReader::new("x", &file[..]).unwrap();
    let mut taken = 0;
    let result = reader.each(|_, _| {
        taken += 1;
        if taken == 3 { Err(io::Error::other("full")) } else { Ok(()) }
    });
    assert_eq!((result.unwrap_err().to_string(), taken), ("full".into(), 3));
}
