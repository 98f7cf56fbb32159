//! Proofs that a retransmission or a timeout was not needed.

use crate::format::File;
use crate::script::{About, Script, Start, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![undo(), f_rto()]
}

/// Segment 1 of ten is late, and is retransmitted at 80 ms.
fn spurious(s: &mut Script) {
    s.write(10).at(80).sack(0, &[2..=6]);
}

fn undo() -> File {
    let about = About {
        mechanism: "undo",
        about: "A reduction is undone when every retransmission is reported as a duplicate, or when the echo of a timestamp is older than the first retransmission",
        source: "RFC 3708; RFC 3522; RFC 4015; Linux tcp_try_undo_recovery, tcp_try_undo_partial, tcp_try_undo_dsack",
        settings: &["undo_by_dsack", "undo_by_timestamps"],
        given: &[],
        expect: &["state", "undone_by", "cwnd", "ssthresh"],
    };
    about.file(|cases| {
        let linux = start("linux-6+notlp", 80);
        cases.add("a DSACK in recovery", "RFC 3708 §3; tcp_try_undo_dsack", linux, |s| {
            s.write(20).acknowledged(&[(80, 0, &[2..=6]), (81, 0, &[2..=8]), (90, 8, &[]), (160, 8, &[1..=1])]);
        });
        cases.add("a DSACK after recovery", "tcp_try_undo_dsack", linux, |s| {
            spurious(s);
            s.at(90).ack(10).at(160).sack(10, &[1..=1]);
        });
        cases.add("with the last ACK of recovery", "tcp_try_undo_recovery", linux, |s| {
            spurious(s);
            s.at(160).sack(10, &[1..=1]);
        });
        cases.add("one of two retransmissions explained is not enough, both are", "RFC 3708 §3 (B.1)", linux, |s| {
            s.write(10).acknowledged(&[
                (80, 0, &[3..=7]),
                (81, 0, &[3..=8]),
                (90, 10, &[]),
                (160, 10, &[1..=1]),
                (161, 10, &[2..=2]),
            ]);
        });
        cases.add("more DSACKs than retransmissions prove nothing", "RFC 3708 §3 (A.4); tcp_dsack_seen", linux, |s| {
            s.write(10).acknowledged(&[
                (80, 2, &[]),
                (81, 2, &[1..=1]),
                (82, 2, &[2..=2]),
                (83, 2, &[4..=8]),
                (163, 10, &[3..=3]),
            ]);
        });
        cases.add("the echo of the original's timestamp", "RFC 3522 §3.2; tcp_try_undo_recovery", linux, |s| {
            spurious(s);
            s.echoing(0).at(90).ack(10);
        });
        cases.add("the echo of the retransmission's timestamp proves nothing", "RFC 3522 §3.2", linux, |s| {
            spurious(s);
            s.echoing(80).at(160).ack(10);
        });
        cases.add("the echo of the original's timestamp on a partial ACK", "tcp_try_undo_partial", linux, |s| {
            spurious(s);
            s.echoing(0).at(90).ack(6);
        });
        cases.add("a proof is used once", "tcp_undo_cwnd_reduction", linux, |s| {
            spurious(s);
            s.at(90).ack(10).at(160).sack(10, &[1..=1]).at(161).sack(10, &[1..=1]);
        });
        cases.add("without the mechanism nothing is undone", "RFC 6675", start("linux-6+notlp+noundo", 80), |s| {
            spurious(s);
            s.echoing(0).at(90).ack(10).at(160).sack(10, &[1..=1]);
        });
        cases.add(
            "the echo of the original's timestamp after a timeout",
            "RFC 4015 §3; tcp_try_undo_loss",
            start("linux-6+notlp+nofrto", 80),
            |s| {
                s.write(10).fires(Timer::Rto).echoing(0).after(40).ack(1);
            },
        );
    })
}

/// Ten of `written` segments are sent, and 1 again by the timeout.
fn timed_out(s: &mut Script, written: u64) {
    s.write(written).fires(Timer::Rto);
}

fn f_rto() -> File {
    let about = About {
        mechanism: "f-rto",
        about: "After a timeout the first ACK that advances is answered with new data; the next one shows whether the timeout was spurious",
        source: "RFC 5682 §2.1, §3.1; Linux tcp_process_loss",
        settings: &["f_rto"],
        given: &["rto_ns"],
        expect: &["state", "undone_by", "cwnd", "ssthresh", "next"],
    };
    about.file(|cases| {
        let linux = start("linux-3.17", 80);
        cases.add("spurious: an ACK of data not retransmitted", "RFC 5682 §3.1 steps 2b and 3b", linux, |s| {
            timed_out(s, 20);
            s.at(320).ack(1).at(321).ack(2).at(322).ack(3);
        });
        cases.add("spurious: a SACK of data not retransmitted", "RFC 5682 §3.1 step 3b", linux, |s| {
            timed_out(s, 20);
            s.at(320).ack(1).at(321).sack(1, &[3..=3]);
        });
        cases.add(
            "spurious at once: the first ACK goes beyond the retransmission",
            "tcp_process_loss, FLAG_ORIG_SACK_ACKED",
            linux,
            |s| {
                timed_out(s, 20);
                s.at(320).ack(3);
            },
        );
        cases.add("genuine: a SACK of the new data alone", "RFC 5682 §3.1 step 3a", linux, |s| {
            timed_out(s, 20);
            s.at(360).ack(1).at(440).sack(1, &[11..=11]).at(441).sack(1, &[11..=12]);
        });
        cases.add("no verdict: the ACK covers all that was sent", "RFC 5682 §3.1 step 2a", linux, |s| {
            timed_out(s, 1);
            s.at(360).ack(1);
        });
        cases.add("no new data to send: the retransmissions go on", "RFC 5682 §3.1 step 2b", linux, |s| {
            timed_out(s, 10);
            s.at(360).ack(1).at(361).ack(2);
        });
        cases.add("it runs again after a second timeout without progress", "RFC 5682 §2.1", linux, |s| {
            timed_out(s, 20);
            s.fires(Timer::Rto).after(80).ack(1).after(1).ack(2);
        });
        cases.add("not after a timeout in fast recovery", "RFC 5682 §3.1", linux, |s| {
            s.write(20).at(80).sack(0, &[2..=6]).fires(Timer::Rto).after(80).ack(6);
        });
        let basic = Start { sack: false, ..linux };
        cases.add("without SACK: two ACKs that advance", "RFC 5682 §2.1 steps 2b and 3b", basic, |s| {
            timed_out(s, 20);
            s.at(320).ack(1).at(321).ack(2);
        });
        cases.add("without SACK: a duplicate ACK after the new data", "RFC 5682 §2.1 step 3a", basic, |s| {
            timed_out(s, 20);
            s.at(360).ack(1).at(440).ack(1);
        });
        cases.add("without the mechanism", "RFC 5681 §3.1", start("linux-3.17+nofrto", 80), |s| {
            timed_out(s, 20);
            s.at(320).ack(1).at(321).ack(2);
        });
    })
}
