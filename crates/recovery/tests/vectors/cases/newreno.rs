//! Recovery without SACK.

use crate::format::File;
use crate::script::{About, Script, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![newreno()]
}

/// `count` duplicate ACKs of everything through segment `n`, from `ms` on, 1 ms apart.
fn duplicates(s: &mut Script, ms: u64, count: u64, n: u64) {
    for i in 0..count {
        s.at(ms + i).ack(n);
    }
}

fn newreno() -> File {
    let about = About {
        mechanism: "newreno",
        about: "Recovery without SACK: three duplicate ACKs begin it, each partial ACK repairs one loss, a full ACK ends it",
        source: "RFC 6582 §3.2; RFC 5681 §3.2; RFC 6298 §5.3",
        settings: &["dupthresh", "limited_transmit"],
        given: &["rto_ns"],
        expect: &["state", "ssthresh", "rto_at_ns", "next"],
    };
    about.file(|cases| {
        let reno = start("reno", 80);
        cases.add(
            "three duplicate ACKs, and a full ACK",
            "RFC 5681 §3.2; RFC 6582 §3.2 step 3",
            start("reno+nolt", 80),
            |s| {
                s.write(10);
                duplicates(s, 80, 9, 0);
                s.at(162).ack(10).write(6);
            },
        );
        cases.add(
            "duplicate ACKs inflate the window, which the full ACK deflates",
            "RFC 5681 §3.2 steps 4 and 6",
            reno,
            |s| {
                s.write(20);
                duplicates(s, 80, 11, 0);
                s.at(162).ack(12);
            },
        );
        cases.add(
            "each partial ACK repairs one loss and restarts the timer",
            "RFC 6582 §3.2 step 3, §4",
            reno,
            |s| {
                s.write(10);
                duplicates(s, 80, 7, 0);
                s.at(162).ack(2).at(242).ack(4).at(322).ack(10);
            },
        );
        cases.add(
            "a partial ACK deflates the window by what it acknowledges, less a segment",
            "RFC 6582 §3.2 step 3",
            start("reno+nolt", 80),
            |s| {
                s.write(30);
                duplicates(s, 80, 8, 0);
                s.at(162).ack(4);
                duplicates(s, 165, 3, 4);
                s.at(242).ack(13);
            },
        );
        cases.add(
            "a partial ACK is answered whatever is in flight",
            "RFC 6582 §3.2 step 3",
            start("reno+nolt", 80),
            |s| {
                s.write(10);
                duplicates(s, 80, 3, 0);
                s.at(162).ack(2);
            },
        );
        cases.add("duplicate ACKs of the recovery point begin no recovery", "RFC 6582 §3.2 step 2", reno, |s| {
            s.write(10);
            duplicates(s, 80, 9, 0);
            s.at(162).ack(10).write(5);
            duplicates(s, 242, 4, 10);
        });
        cases.add("duplicate ACKs beyond the recovery point begin another", "RFC 6582 §3.2 step 2", reno, |s| {
            s.write(10);
            duplicates(s, 80, 9, 0);
            s.at(162).ack(10).write(5).at(242).ack(11);
            duplicates(s, 243, 3, 11);
        });
        cases.add(
            "duplicate ACKs after a timeout begin no recovery below what was sent",
            "RFC 6582 §3.2 step 4",
            reno,
            |s| {
                s.write(14).fires(Timer::Rto).after(80).ack(1).after(80).ack(2).after(80).ack(3).after(80).ack(10);
                for _ in 0..3 {
                    s.after(1).ack(10);
                }
            },
        );
    })
}
