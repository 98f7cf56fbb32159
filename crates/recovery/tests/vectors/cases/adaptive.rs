//! Thresholds that follow segments judged lost that arrived late.

use crate::format::File;
use crate::script::{About, Cases, Script, packets, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    let about = About {
        mechanism: "adaptive",
        about: "A segment judged lost that arrives late ends the packet threshold and raises the time threshold or RACK's window; a reduction is undone if every segment judged lost in its episode was late",
        source: "RFC 9002 §6.1.1, §6.1.2 (which permit it); RFC 8985 §6.2 steps 2 and 4; RFC 3522 §3.2; RFC 3708 §2",
        settings: &["loss_rule", "adaptive"],
        given: &["srtt_ns", "min_rtt_ns"],
        expect: &["marked_lost", "late", "dupthresh", "reorder_at_ns", "undone_by", "state", "cwnd"],
    };
    vec![about.file(|cases| {
        numbered(cases);
        in_a_stream(cases);
        with_rack(cases);
    })]
}

/// Packet 0 of ten is judged lost at 80 ms by the packet threshold, and acknowledged at `ms`.
fn overtaken(s: &mut Script, ms: u64) -> &mut Script {
    s.write(30).at(80).acks(&[1..=4]).at(ms).acks(&[0..=4])
}

fn numbered(cases: &mut Cases) {
    let adaptive = packets("rfc9002+adaptive", 80);
    cases.add("three packets overtook a late one: the packet threshold ends", "RFC 9002 §6.1.1", adaptive, |s| {
        overtaken(s, 84).at(85).acks(&[0..=9]);
        s.at(164).acks(&[0..=9, 11..=14]).fires(Timer::Reorder);
    });
    cases.add(
        "without adaptive thresholds it stays, and so does the reduction",
        "RFC 9002 §6.1.1",
        packets("rfc9002", 80),
        |s| {
            overtaken(s, 84).at(85).acks(&[0..=9]);
            s.at(165).acks(&[0..=9, 11..=13]);
        },
    );
    for (late, name) in [
        (100, "the time threshold is the delay of a late packet and 1/16 of the round trip"),
        (200, "the time threshold is at most two round trips"),
    ] {
        cases.add(name, "RFC 9002 §6.1.2", adaptive, |s| {
            s.write(2).at(80).acks(&[1..=1]).fires(Timer::Reorder);
            s.at(late).acks(&[0..=1]).write(2).at(late + 80);
            s.acks(&[0..=1, 3..=3]);
        });
    }
    cases.add("both fall back after 16 recoveries without a late packet", "RFC 8985 §6.2 step 4", adaptive, |s| {
        s.write(5).at(80).acks(&[1..=4]).at(100).acks(&[0..=4]);
        for n in 1..=18 {
            let second = 4 + 2 * n;
            s.write(2).after(80).acks(&[second..=second]);
            s.fires(Timer::Reorder);
        }
    });
    cases.add(
        "both packets judged lost were late: the reduction is undone with the second",
        "RFC 9002 §6.1; RFC 4015 §3",
        adaptive,
        |s| {
            s.write(10).at(80).acks(&[2..=5]).at(84).acks(&[0..=0]);
            s.at(85).acks(&[0..=5]);
        },
    );
    cases.add("one of two packets judged lost stays lost: the reduction stays", "RFC 9002 §6.1", adaptive, |s| {
        s.write(10).at(80).acks(&[2..=5]).at(84).acks(&[1..=5]);
        s.at(160).acks(&[1..=9]);
    });
}

fn in_a_stream(cases: &mut Cases) {
    let adaptive = start("rfc9002+adaptive", 80);
    // Segment 1 of ten is judged lost at 80 ms and retransmitted.
    cases.add(
        "the ACK comes sooner after the retransmission than the minimum RTT: it is for the original",
        "RFC 8985 §6.2 step 2",
        adaptive,
        |s| {
            s.write(30).at(80).sack(0, &[2..=4]).at(84).ack(6);
        },
    );
    cases.add("the ACK comes later: it is for the retransmission", "RFC 8985 §6.2 step 2", adaptive, |s| {
        s.write(30).at(80).sack(0, &[2..=4]).at(164).ack(10);
    });
    cases.add(
        "the echo of a timestamp from before the retransmission proves the original",
        "RFC 3522 §3.2",
        adaptive,
        |s| {
            s.write(30).at(80).sack(0, &[2..=4]);
            s.at(164).echoing(0).ack(10);
        },
    );
    cases.add("a DSACK proves it afterwards", "RFC 3708 §2", adaptive, |s| {
        s.write(30).at(80).sack(0, &[2..=4]);
        s.at(164).ack(10).at(165).sack(10, &[1..=1]);
    });
    cases.add(
        "one segment was late and another is lost: the reduction stays",
        "RFC 4015 §3; other than Linux tcp_try_undo_partial",
        adaptive,
        |s| {
            s.write(10).at(80).sack(0, &[2..=4]);
            s.at(81).sack(0, &[2..=4, 6..=8]).at(83).sack(4, &[6..=8]);
            s.at(163).ack(10);
        },
    );
}

fn with_rack(cases: &mut Cases) {
    for (profile, name) in [
        (
            "linux-6+adaptive",
            "RACK: the window is the delay of a late segment less the minimum RTT, and 1/16 of that RTT more",
        ),
        ("linux-6", "RACK without adaptive thresholds: a DSACK widens the window by a quarter of the minimum RTT"),
    ] {
        let source = "RFC 8985 §6.2 step 4";
        cases.add(name, source, start(profile, 80), |s| {
            s.write(30).at(80).sack(0, &[2..=2]).fires(Timer::Reorder);
            s.at(120).ack(10).at(165).ack(11);
            s.at(182).sack(11, &[1..=1]).at(200).sack(11, &[13..=13]);
        });
    }
}
