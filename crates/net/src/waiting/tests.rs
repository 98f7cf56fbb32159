use super::*;
use std::{thread, time::Instant};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(5);

#[test]
fn a_wake_up_ends_one_wait() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let waiting = Waiting::new().unwrap();
    let begun = Instant::now();
    for _ in 0..3 {
        // Several wake-ups before a wait are one.
        waiting.waker().wake_by_ref();
        waiting.waker().wake();
        waiting.wait(&reader, PollFlags::IN, Some(LONG)).unwrap();
    }
    let waker = waiting.waker();
    let other = thread::spawn(move || {
        thread::sleep(SHORT);
        waker.wake();
    });
    waiting.wait(&reader, PollFlags::IN, Some(LONG)).unwrap();
    other.join().unwrap();
    assert!(begun.elapsed() < LONG);

    let idle = Instant::now();
    waiting.wait(&reader, PollFlags::IN, Some(SHORT)).unwrap();
    assert!(idle.elapsed() >= SHORT);

    rustix::io::write(&writer, b"x").unwrap();
    waiting.wait(&reader, PollFlags::IN, Some(LONG)).unwrap();
    assert!(begun.elapsed() < LONG);
}
