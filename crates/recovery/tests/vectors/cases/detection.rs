//! Loss detection by counting, early retransmit, and limited transmit.

use crate::format::File;
use crate::script::{About, Script, Start, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![rfc6675(), fack(), early_retransmit(), limited_transmit()]
}

fn rfc6675() -> File {
    let about = About {
        mechanism: "dupthresh-and-sack",
        about: "Which segments are lost by the SACKs above them, when recovery begins, and in which order it sends",
        source: "RFC 6675 §2, §4 IsLost and NextSeg, §5",
        settings: &["loss_rule", "dupthresh", "recovery_fill"],
        given: &[],
        expect: &["state", "marked_lost", "cwnd", "pipe", "next"],
    };
    about.file(|cases| {
        let rfc = start("rfc6675", 80);
        cases.add("the third duplicate ACK begins recovery", "RFC 6675 §5 step 1", rfc, |s| {
            s.write(20).acknowledged(&[
                (80, 0, &[2..=2]),
                (81, 0, &[2..=3]),
                (82, 0, &[2..=4]),
                (83, 0, &[2..=5]),
                (160, 5, &[]),
                (165, 12, &[]),
            ]);
        });
        cases.add("three separate ranges SACKed above make a segment lost", "RFC 6675 §4 IsLost", rfc, |s| {
            s.write_small(10, 300).at(80).sack(0, &[5..=5, 3..=3]).at(81).sack(0, &[7..=7, 5..=5, 3..=3]);
        });
        cases.add("more than two full segments SACKed above make a segment lost", "RFC 6675 §4 IsLost", rfc, |s| {
            s.write_small(10, 300).at(80).sack(0, &[2..=7]).at(81).sack(0, &[2..=8]);
        });
        cases.add("an ACK that repeats SACKs is no duplicate", "RFC 6675 §2", rfc, |s| {
            s.write_small(10, 300).at(80).sack(0, &[2..=2]);
            for ms in 81..=84 {
                s.at(ms).sack(0, &[2..=2]);
            }
        });
        cases.add("an ACK that advances restarts the count", "RFC 6675 §5", rfc, |s| {
            s.write_small(10, 300).acknowledged(&[
                (80, 0, &[3..=3]),
                (81, 0, &[3..=4]),
                (82, 1, &[3..=4]),
                (83, 1, &[3..=5]),
                (84, 1, &[3..=6]),
                (85, 1, &[3..=7]),
            ]);
        });
        cases.add(
            "lost segments, then new data, then a rescue retransmission",
            "RFC 6675 §4 NextSeg rules 1, 2 and 4",
            rfc,
            |s| {
                s.write(11).acknowledged(&[
                    (80, 0, &[5..=7]),
                    (81, 0, &[5..=8]),
                    (82, 0, &[5..=9]),
                    (160, 1, &[5..=9]),
                    (161, 2, &[5..=9]),
                    (162, 3, &[5..=9]),
                ]);
            },
        );
        cases.add("a hole not marked lost is sent when no new data can be", "RFC 6675 §4 NextSeg rule 3", rfc, |s| {
            s.write(10).acknowledged(&[
                (80, 0, &[5..=7]),
                (81, 0, &[9..=9, 5..=7]),
                (82, 0, &[9..=10, 5..=7]),
                (160, 1, &[9..=10, 5..=7]),
            ]);
        });
        cases.add("a lost retransmission waits for the timeout", "RFC 6675 §5.1", rfc, |s| {
            s.write(10).at(80).sack(0, &[2..=10]).fires(Timer::Rto);
        });
    })
}

fn fack() -> File {
    let about = About {
        mechanism: "fack",
        about: "Loss by the distance to the highest SACK, lost retransmissions, and reordering, which raises dupthresh and ends FACK",
        source: "Mathis and Mahdavi, Forward acknowledgment (1996); Linux 3.17 tcp_update_scoreboard, tcp_mark_lost_retrans, tcp_update_reordering",
        settings: &["loss_rule", "dupthresh", "max_dupthresh"],
        given: &[],
        expect: &["state", "marked_lost", "dupthresh"],
    };
    about.file(|cases| {
        let linux = start("linux-3.17", 80);
        cases.add(
            "recovery begins when the highest SACK is more than three segments up",
            "tcp_time_to_recover",
            linux,
            |s| {
                s.write(10).at(80).sack(0, &[3..=3]).at(81).sack(0, &[3..=4]);
            },
        );
        cases.add(
            "all holes three or more segments below the highest SACK are lost",
            "tcp_update_scoreboard",
            linux,
            |s| {
                s.write(10).at(80).sack(0, &[9..=9]);
            },
        );
        cases.add(
            "a retransmission is lost once data first sent after it is SACKed",
            "tcp_mark_lost_retrans",
            linux,
            |s| {
                s.write(40).acknowledged(&[
                    (80, 0, &[2..=4]),
                    (86, 0, &[2..=10]),
                    (161, 0, &[2..=11]),
                    (166, 0, &[2..=16]),
                    (241, 0, &[2..=17]),
                ]);
            },
        );
        cases.add(
            "a late segment raises dupthresh to its distance and ends FACK",
            "tcp_update_reordering",
            linux,
            |s| {
                s.write(40).acknowledged(&[
                    (80, 0, &[7..=7]),
                    (81, 0, &[7..=7, 3..=3]),
                    (82, 0, &[7..=10, 3..=3]),
                    (162, 0, &[7..=12, 3..=3]),
                ]);
            },
        );
        cases.add("reordering by dupthresh leaves FACK on", "tcp_update_reordering", linux, |s| {
            s.write(40).at(80).sack(0, &[4..=4]).at(81).sack(0, &[4..=4, 2..=2]).at(82).sack(0, &[4..=8, 2..=2]);
        });
        cases.add("a duplicate ACK in recovery marks the first segment lost", "tcp_update_scoreboard", linux, |s| {
            s.write(40).acknowledged(&[
                (80, 0, &[2..=4]),
                (81, 0, &[2..=6]),
                (83, 0, &[8..=8, 2..=6]),
                (160, 6, &[8..=8]),
                (161, 6, &[8..=9]),
            ]);
        });
        cases.add(
            "without FACK, three segments above must be SACKed",
            "tcp_time_to_recover",
            start("linux-3.17+nofack", 80),
            |s| {
                s.write(40).at(80).sack(0, &[4..=4]).at(81).sack(0, &[4..=5]).at(82).sack(0, &[4..=6]);
            },
        );
    })
}

fn early_retransmit() -> File {
    let about = About {
        mechanism: "early-retransmit",
        about: "With fewer than four segments outstanding and nothing to send, fewer SACKs or duplicate ACKs suffice (outstanding − 1, or one): at once or after a delay, and not on a path that reorders",
        source: "RFC 5827 §3; the 2011 paper §6; Linux 3.10",
        settings: &["early_retransmit", "early_retransmit_sacked"],
        given: &["srtt_ns", "outstanding"],
        expect: &["state", "early_at_ns", "marked_lost"],
    };
    about.file(|cases| {
        for (profile, form, delayed, source) in [
            ("linux-3.17+noer", "off", false, "RFC 5681 §3.2"),
            ("linux-3.17+ernaive", "at once", false, "the 2011 paper §6.1, naive"),
            ("linux-3.17+erfirst", "at once unless reordering", false, "the 2011 paper §6.1, first mitigation"),
            ("linux-3.17+er", "delayed, 25 ms or more", true, "the 2011 paper §6.1, both mitigations"),
            ("linux-3.17+erlinux", "delayed, 2 ms or more", true, "Linux 3.10 tcp_pause_early_retransmit"),
        ] {
            cases.add(&format!("{form}: one of three segments is SACKed, then two"), source, start(profile, 80), |s| {
                s.write(3).at(80).sack(0, &[2..=2]);
                s.at(85).sack(0, &[2..=3]);
                if delayed {
                    s.fires(Timer::Early);
                }
            });
            cases.add(&format!("{form}: the same after the path has reordered"), source, start(profile, 80), |s| {
                s.write(5).at(80).sack(0, &[2..=2]).at(81).ack(2).at(82).ack(5);
                s.at(100).write(3).at(180).sack(5, &[7..=8]);
            });
            for rtt in [4, 400] {
                if delayed {
                    let name = format!("{form}: the delay at a round-trip time of {rtt} ms");
                    cases.add(&name, source, start(profile, rtt), |s| {
                        s.write(3).at(rtt).sack(0, &[2..=3]).fires(Timer::Early);
                    });
                }
            }
        }
        for (profile, name, source) in [
            ("linux-3.17+ernaive", "at once: two holes of three segments are too many", "RFC 5827 §3.2"),
            (
                "linux-3.17+erlinux",
                "delayed, 2 ms or more: two holes of three segments are marked",
                "Linux 3.10 tcp_time_to_recover",
            ),
        ] {
            cases.add(name, source, start(profile, 80), |s| {
                s.write(3).at(80).sack(0, &[3..=3]);
                if profile.ends_with("erlinux") {
                    s.fires(Timer::Early);
                }
            });
        }
        let linux = start("linux-3.17", 80);
        cases.add("an ACK that advances cancels the delay", "RFC 5827 §3.2", linux, |s| {
            s.write(3).at(80).sack(0, &[2..=2]).at(90).ack(2).at(170).ack(3);
        });
        cases.add("a further SACK restarts the delay", "Linux 3.10", linux, |s| {
            s.write(2).at(10).write(1).at(80).sack(0, &[2..=2]).at(90).sack(0, &[2..=3]).fires(Timer::Early);
        });
        cases.add("not with four segments outstanding", "RFC 5827 §3", linux, |s| {
            s.write(4).at(80).sack(0, &[3..=3]);
        });
        cases.add("not where new data can be sent", "RFC 5827 §3", Start { window: 3000, ..linux }, |s| {
            s.write(10).window(8000).at(80).sack(0, &[3..=3]);
        });
    })
}

/// SACKs of 2, then of 2 and 3, and so on through `last`.
fn sacks(s: &mut Script, last: u64) {
    for n in 2..=last {
        s.at(78 + n).sack(0, &[2..=n]);
    }
}

fn limited_transmit() -> File {
    let about = About {
        mechanism: "limited-transmit",
        about: "New data on the first duplicate ACKs, before recovery",
        source: "RFC 3042 §2; RFC 6675 §5 step 3",
        settings: &["limited_transmit"],
        given: &["state", "pipe", "outstanding"],
        expect: &["cwnd", "next"],
    };
    about.file(|cases| {
        for (profile, source) in
            [("rfc6675+nolt", "RFC 5681 §3.2"), ("rfc6675+lt", "RFC 3042 §2"), ("rfc6675", "RFC 6675 §5 step 3")]
        {
            cases.add(&format!("{profile}: two duplicate ACKs"), source, start(profile, 80), |s| {
                s.write(40);
                sacks(s, 3);
            });
        }
        cases.add(
            "no more than two segments, however many SACKs",
            "RFC 3042 §2",
            start("linux-6+lt+notlp", 80),
            |s| {
                // The path has reordered: RACK waits, so that SACKs begin no recovery.
                s.write(10).at(80).sack(0, &[2..=2]).at(81).ack(2).at(82).ack(10);
                s.at(100).write(40);
                for n in 12..=16 {
                    s.at(170 + n).sack(10, &[12..=n]);
                }
            },
        );
        cases.add("two segments on one ACK", "RFC 3042 §2", start("rfc6675+lt", 80), |s| {
            s.write(40).at(80).sack(0, &[2..=3]);
        });
        cases.add("a duplicate ACK without new SACKs sends nothing", "RFC 3042 §2", start("rfc6675+lt", 80), |s| {
            s.write(40).at(80).sack(0, &[2..=2]).at(81).sack(0, &[2..=2]).at(82).ack(0);
        });
        cases.add(
            "the peer's window binds it",
            "RFC 3042 §2",
            Start { window: 11_000, ..start("rfc6675+lt", 80) },
            |s| {
                s.write(40);
                sacks(s, 3);
            },
        );
        cases.add("an ACK that advances ends it", "RFC 3042 §2", start("rfc6675+lt", 80), |s| {
            s.write(40);
            sacks(s, 3);
            s.at(82).ack(3);
        });
        cases.add("without SACK, duplicate ACKs count", "RFC 3042 §2", start("reno", 80), |s| {
            s.write(40).at(80).ack(0).at(81).ack(0);
        });
    })
}
