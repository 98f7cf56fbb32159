//! The peer: its window, and data that it drops.

use crate::format::File;
use crate::script::{About, MSS, Start, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![reneging(), zero_window_probe()]
}

fn reneging() -> File {
    let about = About {
        mechanism: "reneging",
        about: "An ACK that stops at data SACKed before shows that the receiver dropped it: the timer decides soon, and all SACKs are forgotten",
        source: "RFC 2018 §8; Linux 6.12 tcp_check_sack_reneging",
        settings: &[],
        given: &["srtt_ns"],
        expect: &["state", "rto_at_ns", "reneged", "marked_lost", "pipe", "next"],
    };
    about.file(|cases| {
        for profile in ["linux-3.17", "linux-6+notlp"] {
            cases.add(
                &format!("{profile}: a timeout follows after SRTT/2"),
                "tcp_check_sack_reneging",
                start(profile, 80),
                |s| {
                    s.write(10).at(80).sack(0, &[2..=3]).ack(1).fires(Timer::Rto);
                    s.after(80).ack(10);
                },
            );
        }
        cases.add("on a short path it follows after 10 ms", "tcp_check_sack_reneging", start("linux-3.17", 4), |s| {
            s.write(10).at(4).sack(0, &[2..=3]).ack(1).fires(Timer::Rto);
        });
        cases.add("an ACK of the SACKed data was only late", "tcp_check_sack_reneging", start("linux-3.17", 80), |s| {
            s.write(10).at(80).sack(0, &[2..=3]).ack(1).at(81).ack(10);
        });
    })
}

fn zero_window_probe() -> File {
    let about = About {
        mechanism: "zero-window-probe",
        about: "A window closed by the peer is probed after one RTO, then at doubling intervals",
        source: "RFC 9293 §3.8.6.1, §3.8.6.2.1",
        settings: &["max_rto_ns"],
        given: &["rto_ns"],
        expect: &["persist_at_ns", "next"],
    };
    about.file(|cases| {
        let narrow = Start { window: 2 * MSS, ..start("linux-3.17", 80) };
        cases.add("intervals double whether or not the peer answers", "RFC 9293 §3.8.6.1", narrow, |s| {
            s.write(5).at(80).window(0).ack(2).fires(Timer::Persist);
            s.after(80).ack(2).fires(Timer::Persist).fires(Timer::Persist).fires(Timer::Persist);
        });
        cases.add("an interval is at most the largest RTO", "RFC 9293 §3.8.6.1", narrow, |s| {
            s.write(5).at(80).window(0).ack(2);
            for _ in 0..11 {
                s.fires(Timer::Persist).after(80).ack(2);
            }
        });
        cases.add("a window that opens ends the probing", "RFC 9293 §3.8.6.1", narrow, |s| {
            s.write(5).at(80).window(0).ack(2).fires(Timer::Persist);
            s.after(80).window(10 * MSS).ack(2).after(80).window(0).ack(5).write(1);
        });
        cases.add("a probe sends what fits into a very small window", "RFC 9293 §3.8.6.2.1", narrow, |s| {
            s.write(5).at(80).window(300).ack(2).fires(Timer::Persist);
        });
        cases.add("outstanding data leaves it to the retransmission timer", "RFC 9293 §3.8.6.1", narrow, |s| {
            s.write(5).at(80).window(0).ack(1).fires(Timer::Rto);
        });
    })
}
