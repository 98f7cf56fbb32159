use super::*;

/// A map of runs, and the (file, frame) of each frame.
fn mapped(runs: &[(u32, u64, u64)]) -> (FrameMap, Vec<(u32, u64)>) {
    let mut map = FrameMap::default();
    let mut frames = Vec::new();
    for &(file, first, count) in runs {
        map.add(file, first, count);
        frames.extend((first..first + count).map(|frame| (file, frame)));
    }
    (map, frames)
}

fn check(map: &FrameMap, frames: &[(u32, u64)]) {
    for (i, place) in frames.iter().enumerate() {
        let frame = i as u64 + 1;
        assert_eq!(map.locate(frame), Some(*place), "frame {frame}");
        assert_eq!(map.find(place.0, place.1), Some(frame), "{place:?}");
    }
    assert_eq!(map.locate(0), None);
    assert_eq!(map.locate(frames.len() as u64 + 1), None);
}

#[test]
fn every_frame_is_found_in_files_that_follow_each_other_and_in_merged_ones() {
    let (map, frames) = mapped(&[(0, 1, 700), (0, 701, 1), (1, 1, 300), (2, 6, 5)]);
    check(&map, &frames);
    let mut runs = vec![(3, 1, 9)];
    let mut next = [1, 1, 5];
    for i in 0..3000_u64 {
        let file = (i * i % 7 % 3) as usize;
        let count = 1 + i % 200;
        runs.push((file as u32, next[file], count));
        next[file] += count;
    }
    let (map, frames) = mapped(&runs);
    check(&map, &frames);
}

#[test]
fn alternating_files_take_two_bytes_a_run() {
    let (mut map, frames) = mapped(&[]);
    assert!(frames.is_empty());
    for i in 1..=100_000 {
        map.add(0, i, 1);
        map.add(1, i, 1);
    }
    let bytes: usize = map.blocks.iter().map(|block| block.runs.len()).sum();
    assert!(bytes <= 400_000, "{bytes}");
    assert!(map.blocks.len() <= 400, "{}", map.blocks.len());
    assert_eq!(map.locate(150_001), Some((0, 75_001)));
}

#[test]
fn a_map_goes_on_after_another() {
    let (mut map, mut frames) = mapped(&[(0, 1, 5), (1, 1, 3)]);
    let (more, others) = mapped(&[(0, 4, 2), (1, 1, 4)]);
    map.append(more, |file| file + 1);
    frames.extend(others.iter().map(|(file, frame)| (file + 1, *frame)));
    check(&map, &frames);
}

#[test]
fn the_oldest_frames_are_forgotten() {
    let mut map = FrameMap::default();
    let runs = MOST_BLOCKS as u64 + 100;
    // The file is read again and again from its beginning, which needs a block each time.
    for _ in 0..runs {
        map.add(0, 1, 2);
        map.add(1, 1, 1);
        map.add(0, 1, 1);
    }
    assert!(map.blocks.len() <= MOST_BLOCKS);
    assert_eq!(map.locate(1), None);
    assert_eq!(map.locate(runs * 4 - 1), Some((1, 1)));
}
