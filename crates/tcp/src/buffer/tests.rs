use super::*;

fn span(a: u64, b: u64) -> Span {
    Span::new(Offset(a), Offset(b))
}

#[test]
fn acknowledged_bytes_are_dropped() {
    let mut buffer = Buffer::default();
    buffer.append(b"abcdef");
    buffer.forget_before(Offset(3));
    assert_eq!(buffer.copy(span(3, 5)), b"cd");
    assert_eq!(buffer.copy(span(5, 50)), b"ef");
    assert_eq!(buffer.copy(span(50, 60)), b"");
    assert_eq!(buffer.len(), 4);
    buffer.reset(0);
    buffer.append(b"new");
    assert_eq!(buffer.copy(span(1, 4)), b"new");
}

#[test]
fn memory_is_freed_when_no_byte_is_held() {
    let mut buffer = Buffer::default();
    buffer.append(b"abc");
    buffer.give_back_memory();
    assert_eq!(buffer.copy(span(1, 4)), b"abc");
    buffer.forget_before(Offset(4));
    buffer.give_back_memory();
    assert_eq!((buffer.len(), buffer.ring.len()), (0, 0));
    // The stream would continue at the same offset.
    buffer.forget_before(Offset(9));
    assert_eq!(buffer.take(1), b"");
    buffer.append(b"d");
    assert_eq!(buffer.copy(span(4, 5)), b"d");
}

#[test]
fn bytes_filled_in_place_are_kept() {
    let mut buffer = Buffer::default();
    let filled = buffer.append_with(3, |room| {
        assert_eq!(room.len(), 3);
        room[..2].copy_from_slice(b"ef");
        2
    });
    assert_eq!((filled, buffer.take(9)), (2, b"ef".to_vec()));
    // A claim beyond the slice counts as the whole slice.
    assert_eq!(buffer.append_with(5, |_| usize::MAX), 5);
    assert_eq!(buffer.append_with(0, |room| room.len() + 1), 0);
    assert_eq!(buffer.len(), 5);
}

#[test]
fn the_slice_to_fill_wraps_around_the_ring() {
    let mut buffer = Buffer::default();
    let (mut written, mut read) = (0_u64, 0_u64);
    while written < 5 * LEAST_RING as u64 {
        let most = LEAST_RING - buffer.len();
        written += buffer.append_with(most.min(1000), |room| {
            for (place, i) in room.iter_mut().zip(written..) {
                *place = (i % 251) as u8;
            }
            room.len()
        }) as u64;
        for byte in buffer.take(700) {
            assert_eq!(u64::from(byte), read % 251);
            read += 1;
        }
    }
    assert_eq!(buffer.ring.len(), LEAST_RING);
}

/// The buffer behaves like a plain vector, wherever the ring wraps.
#[test]
fn the_ring_behaves_like_a_vector() {
    let stream: Vec<u8> = (0..4000u32).map(|i| (i * 7 % 251) as u8).collect();
    let mut buffer = Buffer::default();
    let (mut taken, mut into) = (Vec::new(), [0; 37]);
    for (i, part) in stream.chunks(58).enumerate() {
        let at = buffer.end();
        buffer.append(part);
        assert_eq!(buffer.end(), at + part.len() as u64);
        assert_eq!(buffer.copy(Span::new(at, buffer.end())), part, "part {i}");
        let count = buffer.take_into(&mut into);
        taken.extend_from_slice(&into[..count]);
    }
    taken.extend(buffer.take(usize::MAX));
    assert_eq!(taken, stream);
}

#[test]
fn a_stream_that_rests_keeps_no_more_memory_than_it_needs() {
    let mut buffer = Buffer::default();
    let bytes: Vec<u8> = (0..100_000_u32).map(|i| i as u8).collect();
    buffer.append(&bytes);
    buffer.shrink();
    assert_eq!(buffer.memory(), 128 << 10);
    buffer.forget_before(Offset(1 + 90_000));
    buffer.shrink();
    assert_eq!(buffer.memory(), 16 << 10);
    assert_eq!(buffer.copy(span(90_001, 100_001)), bytes[90_000..]);
    buffer.append(b"end");
    assert_eq!(buffer.take(10_003), [&bytes[90_000..], b"end"].concat());
    buffer.shrink();
    assert_eq!((buffer.memory(), buffer.end()), (0, Offset(100_004)));
    buffer.append(b"more");
    assert_eq!(buffer.take(9), b"more");
}

#[test]
fn what_fits_is_told_before() {
    let mut buffer = Buffer::default();
    for (memory, fits) in [(0, 0), (4095, 0), (4096, 4096), (8191, 4096), (8192, 8192)] {
        assert_eq!(buffer.room_within(memory), fits);
        assert!(fits == 0 || buffer.growth(fits) <= memory);
    }
    buffer.append(&[0; 3000]);
    for (memory, fits) in [(0, 1096), (4095, 1096), (4096, 5192), (12_288, 13_384)] {
        assert_eq!(buffer.room_within(memory), fits);
        assert!(buffer.growth(fits) <= memory && buffer.growth(fits + 1) > memory);
    }
    buffer.append(&[0; 1097]);
    assert_eq!(buffer.memory(), 8192);
}

#[test]
fn room_for_much_takes_memory_for_what_is_written() {
    let mut buffer = Buffer::default();
    let filled = buffer.append_with(1 << 20, |room| room.len().min(10));
    assert_eq!((filled, buffer.memory()), (10, LEAST_RING));
    for _ in 0..20 {
        let left = (1 << 20) - buffer.len();
        buffer.append_with(left, |room| room.len());
    }
    assert_eq!((buffer.len(), buffer.memory()), (1 << 20, 1 << 20));
}

#[test]
fn a_ring_that_is_used_again_shows_nothing_of_the_stream_before() {
    let spare = || SPARE.with(|spare| spare.borrow().len());
    for (first, read, second) in [(100, 100, 0), (4096, 4090, 3000), (3000, 1500, 2500), (2500, 2400, 1), (0, 0, 0)] {
        let mut buffer = Buffer::default();
        buffer.append(&vec![7; first]);
        buffer.take(read);
        buffer.append(&vec![8; second]);
        buffer.append_with(30, |room| {
            room.fill(9);
            0
        });
        buffer.take(usize::MAX);
        assert_eq!(spare(), 0);
        buffer.give_back_memory();
        assert_eq!(spare(), 1, "{first}, {read}, {second}");
        Buffer::default().append_with(LEAST_RING, |room| {
            assert_eq!(room, [0; LEAST_RING], "{first}, {read}, {second}");
            0
        });
        assert_eq!(spare(), 0);
    }
}

#[test]
fn a_thread_keeps_few_rings() {
    let mut buffers: Vec<_> = (0..2 * MOST_SPARE).map(|_| Buffer::default()).collect();
    for buffer in &mut buffers {
        buffer.append(b"short");
        buffer.take(5);
    }
    buffers.iter_mut().for_each(Buffer::give_back_memory);
    assert_eq!(SPARE.with(|spare| spare.borrow().len()), MOST_SPARE);
}
