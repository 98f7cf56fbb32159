use super::*;
use recoup_tcp::flow::{Script, TimedWrite, When, Write};
use std::time::Duration;

fn workload(request: u64, response: u64, later: &[(u64, u64)], close: bool) -> Workload {
    let write = |&(ms, bytes): &(u64, u64)| TimedWrite { after: Duration::from_millis(ms), bytes };
    let later: Vec<_> = later.iter().map(write).collect();
    Workload::exchange(request, response).with_later_writes(&later).closing(close)
}

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

#[test]
fn the_server_answers_the_whole_request_and_writes_on_time() {
    let mut server = Application::new(Host::Server, &workload(100, 1000, &[(50, 10)], true));
    server.opened(at(1));
    server.read(at(2), 60);
    assert_eq!((server.waiting(), server.due()), (0, None));
    server.read(at(3), 40);
    assert_eq!((server.waiting(), server.due()), (1000, Some(at(53))));
    server.wrote(1000);
    assert!(!server.closes(), "it has more to write");
    server.advance(at(60));
    assert_eq!((server.waiting(), server.due()), (10, None));
    server.wrote(10);
    assert!(server.closes() && !server.closes());
    assert!(!server.is_finished(), "the client has not closed");
    server.ended();
    assert!(server.is_finished());
}

#[test]
fn the_client_asks_at_once_and_reads_all() {
    let mut client = Application::new(Host::Client, &workload(7, 20, &[(5, 1)], false));
    assert_eq!(client.waiting(), 0, "not open yet");
    client.opened(at(1));
    assert_eq!((client.waiting(), client.expected()), (7, 21));
    client.wrote(7);
    assert!(!client.is_finished());
    client.read(at(9), 21);
    assert!(client.is_finished() && !client.closes());
}

#[test]
fn the_client_of_a_kept_connection_reads_one_response_at_a_time() {
    let write = |received, acknowledged, ms, bytes| Write {
        when: When { received, acknowledged, after: Duration::from_millis(ms) },
        bytes,
    };
    let workload = Workload {
        client: Script::of(&[write(0, 0, 0, 10), write(500, 0, 20, 11), write(0, 21, 0, 12)]),
        server: Script::of(&[write(10, 0, 0, 500), write(21, 0, 0, 700)]),
    };
    let mut client = Application::new(Host::Client, &workload);
    client.opened(at(1));
    client.wrote(10);
    assert_eq!((client.expected(), client.due()), (500, None));
    client.read(at(5), 500);
    assert_eq!((client.waiting(), client.due()), (0, Some(at(25))));
    assert_eq!(client.expected(), 700, "everything else");
    client.advance(at(25));
    assert_eq!(client.waiting(), 11);
    client.wrote(11);
    assert!(client.awaits_acknowledgment());
    client.unacknowledged(at(30), 1);
    assert_eq!(client.waiting(), 0);
    client.unacknowledged(at(31), 0);
    assert_eq!(client.waiting(), 12);
    assert!(!client.awaits_acknowledgment());
    client.wrote(12);
    client.read(at(40), 700);
    assert!(client.is_finished());
}
