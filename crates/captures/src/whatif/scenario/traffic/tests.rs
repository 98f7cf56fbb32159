use super::*;
use recoup_support::exchange;
use recoup_tcp::flow::When;

fn script(writes: &[(u64, u64, u64)]) -> Script {
    let write = |&(received, ms, bytes): &(u64, u64, u64)| Write {
        when: When { received, acknowledged: 0, after: Duration::from_millis(ms) },
        bytes,
    };
    Script::of(&writes.iter().map(write).collect::<Vec<_>>())
}

/// The exchanges of a sending server as text. Writes: (bytes received, ms after, bytes).
fn text(client: &[(u64, u64, u64)], server: &[(u64, u64, u64)]) -> String {
    let [client, server] = [client, server].map(script);
    let client = Writer::observed(&client, Duration::from_millis(80));
    let found = exchanges(&client, &Writer::rerun(&server));
    let text = exchange::format(&found);
    assert_eq!(exchange::parse(&text), Ok(found), "{text}");
    text
}

#[test]
fn units_end_where_the_other_end_replies_or_the_application_pauses() {
    for (client, server, expected) in [
        (&[(0, 0, 300)][..], &[(300, 0, 20_000)][..], "300B>20kB"),
        // The peer's packets arrive one by one; the server takes 30 ms.
        (&[(0, 0, 1448), (0, 90, 1448), (0, 1, 104)], &[(3000, 30, 5000)], "3kB>30ms>5kB"),
        // Kept connections: think times of the client, and pauses of the server.
        (
            &[(0, 1, 300), (9000, 1200, 310), (9500, 0, 320)],
            &[(300, 0, 9000), (610, 0, 500), (930, 0, 5), (930, 700, 6)],
            "300B>9kB,1200ms,310B>500B,320B>5B,700ms,0>6B",
        ),
        // The server speaks first.
        (&[(20, 3, 7)], &[(0, 0, 20), (7, 0, 1)], "0>20B,3ms,7B>1B"),
        // An upload without a response, and one after a pause.
        (&[(0, 0, 9000), (0, 2000, 9000)], &[], "9kB>0,2s,9kB>0"),
        // A write that waits for more than there is comes last.
        (&[(0, 0, 5)], &[(5, 0, 6), (99, 0, 7)], "5B>13B"),
        (&[], &[], "none"),
    ] {
        assert_eq!(text(client, server), expected);
    }
}
