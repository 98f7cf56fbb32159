use super::super::tests::made::*;
use super::*;

/// What is given of a capture, block by block: the numbers of frames and the bytes of blocks.
fn copied(file: &[u8]) -> (Vec<String>, Vec<u8>, Counts) {
    let (mut found, mut blocks) = (Vec::new(), Vec::new());
    let reader = CopyReader::new("x", file).unwrap();
    let take = |record: CopiedRecord<'_>| {
        found.push(match record {
            CopiedRecord::Classic(link) => format!("classic {link}"),
            CopiedRecord::NoFrame => "no frame".into(),
            CopiedRecord::Frame(frame) => format!("{} of {}", frame.data.len(), frame.on_wire),
            CopiedRecord::Block(bytes) => {
                blocks.extend_from_slice(bytes);
                "block".into()
            }
        });
        Ok(())
    };
    let counts = reader.each(take, |_| {}).unwrap();
    (found, blocks, counts)
}

#[test]
fn blocks_are_given_as_they_are() {
    let packets = packets(2);
    let unread = block(Big, 0x1234, &[7; 600]);
    let custom = block(Big, 0x0bad, &[0, 0, 0, 9, 1, 2, 3, 4]);
    let file = [sections(Big, RAW as u16, &packets), unread, custom].concat();
    let (found, blocks, counts) = copied(&file);
    assert_eq!(blocks, file);
    assert_eq!(counts.frames, 3);
    assert_eq!(found.iter().filter(|record| record.contains(" of ")).count(), 2, "{found:?}");
    assert_eq!(found.last().unwrap(), "no frame");
}

#[test]
fn captures_of_both_kinds_may_follow_each_other() {
    let packets = packets(2);
    let ng = sections(Big, RAW as u16, &packets[1..]);
    let file = [plain(&packets[..1]), ng.clone()].concat();
    let (found, blocks, _) = copied(&file);
    assert_eq!(found[..2], ["classic 101", "152 of 152"]);
    assert_eq!(blocks, ng);
}
