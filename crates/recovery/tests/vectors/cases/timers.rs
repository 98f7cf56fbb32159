//! Round-trip times, the RTO, its back-off and its restart.

use crate::format::File;
use crate::script::{About, MSS, Script, Start, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![rtt_and_rto(), rtt_and_rto_linux(), rto_backoff(), rto_restart()]
}

const RTO_SETTINGS: &[&str] = &["smoothing", "rttvar_floor_ns", "min_rto_ns", "max_rto_ns"];
const ESTIMATES: &[&str] = &["srtt_ns", "rttvar_ns", "rto_ns", "rto_at_ns"];

/// Segments one by one, each acknowledged after the given time in ms.
fn samples(s: &mut Script, times: &[u64]) {
    for (n, &ms) in (1..).zip(times) {
        s.write(1).after(ms).ack(n);
    }
}

fn rtt_and_rto() -> File {
    let about = About {
        mechanism: "rtt-and-rto",
        about: "The round-trip time estimator, the RTO computed from it, and when the retransmission timer starts, restarts and stops",
        source: "RFC 6298 §2, §3, §5.1 to §5.3, §5.7",
        settings: RTO_SETTINGS,
        given: &["rtt_sample_ns"],
        expect: ESTIMATES,
    };
    about.file(|cases| {
        cases.add("the first sample sets SRTT to R and RTTVAR to R/2", "RFC 6298 §2.2", start("rfc6675", 400), |s| {
            s.write(1);
        });
        cases.add("later samples are smoothed, RTTVAR before SRTT", "RFC 6298 §2.3", start("rfc6675", 400), |s| {
            samples(s, &[480, 400, 400, 700, 200, 400, 410, 390]);
        });
        cases.add("the RTO is at least a second", "RFC 6298 §2.4", start("rfc6675", 80), |s| {
            samples(s, &[100, 60, 80, 300, 80]);
        });
        cases.add(
            "a variance of zero leaves the clock granularity",
            "RFC 6298 §2.3: max(G, K*RTTVAR)",
            start("rfc6675", 2000),
            |s| {
                samples(s, &[2000; 30]);
            },
        );
        cases.add("the RTO is at most the maximum", "RFC 6298 §2.5", start("rfc6675", 25_000), |s| {
            s.write(1);
        });
        cases.add(
            "an ACK of new data restarts the timer, a duplicate does not, the last stops it",
            "RFC 6298 §5.1 to §5.3",
            start("rfc6675", 400),
            |s| {
                s.write(4).acknowledged(&[(400, 1, &[]), (450, 1, &[]), (500, 3, &[]), (510, 4, &[])]);
                s.at(600).write(1);
            },
        );
        cases.add(
            "a segment sent twice gives no sample",
            "RFC 6298 §3, Karn's algorithm",
            start("rfc6675", 400),
            |s| {
                s.write(1).fires(Timer::Rto).after(400).ack(1).write(1).after(420).ack(2);
            },
        );
        cases.add(
            "a timestamp gives a sample where Karn's algorithm gives none",
            "RFC 6298 §3; RFC 7323 §4.1",
            start("rfc6675", 400),
            |s| {
                s.write(1).fires(Timer::Rto).echoing(1200).after(440).ack(1);
            },
        );
        let no_sample = Start { rtt: None, ..start("rfc6675", 0) };
        cases.add("after a SYN sent twice the RTO is three seconds", "RFC 6298 §5.7", no_sample, |s| {
            s.write(2).at(300).ack(1).at(310).ack(2);
        });
    })
}

fn rtt_and_rto_linux() -> File {
    let about = About {
        mechanism: "rtt-and-rto-linux",
        about: "Linux's estimator: RTTVAR rises at once, falls once a round trip, is damped when the round-trip time falls, and has a floor of 200 ms before the factor",
        source: "Linux 6.12 tcp_rtt_estimator, tcp_set_rto",
        settings: RTO_SETTINGS,
        given: &["rtt_sample_ns", "una", "nxt"],
        expect: ESTIMATES,
    };
    about.file(|cases| {
        cases.add(
            "the first sample leaves at least 200 ms above SRTT",
            "tcp_rtt_estimator",
            start("linux-3.17", 80),
            |s| {
                s.write(1);
            },
        );
        cases.add("the RTO follows samples", "tcp_rtt_estimator", start("linux-3.17", 400), |s| {
            samples(s, &[480, 400, 400, 700, 200, 400, 410, 390]);
        });
        cases.add(
            "a round-trip time that falls raises RTTVAR by an eighth of the usual weight",
            "tcp_rtt_estimator",
            start("linux-3.17", 400),
            |s| {
                samples(s, &[400, 400, 400, 400, 400, 50, 50]);
            },
        );
        cases.add(
            "RTTVAR falls once a round trip, however many samples come",
            "tcp_rtt_estimator",
            start("linux-3.17", 800),
            |s| {
                s.write(6);
                for n in 1..=6 {
                    s.at(800 + 2 * n).ack(n);
                }
                s.write(6);
                for n in 7..=12 {
                    s.at(1600 + 2 * n).ack(n);
                }
            },
        );
        cases.add("on a short path the floor is the RTO", "tcp_set_rto", start("linux-3.17", 1), |s| {
            samples(s, &[1, 2, 1, 1]);
        });
    })
}

fn rto_backoff() -> File {
    let about = About {
        mechanism: "rto-backoff",
        about: "Each expiry of the retransmission timer doubles the RTO, up to a maximum; an RTT sample ends the back-off",
        source: "RFC 6298 §5.5, §5.6, §5.7",
        settings: RTO_SETTINGS,
        given: &["srtt_ns", "rttvar_ns", "rtt_sample_ns"],
        expect: &["backoff", "rto_ns", "rto_at_ns"],
    };
    about.file(|cases| {
        cases.add("the RTO doubles up to 60 s", "RFC 6298 §5.5, §2.5", start("rfc6675", 400), |s| {
            s.write(1);
            for _ in 0..7 {
                s.fires(Timer::Rto);
            }
        });
        cases.add("the RTO doubles up to 120 s", "Linux TCP_RTO_MAX", start("linux-3.17", 80), |s| {
            s.write(1);
            for _ in 0..9 {
                s.fires(Timer::Rto);
            }
        });
        cases.add(
            "the ACK of a segment sent twice leaves the back-off, a sample ends it",
            "RFC 6298 §5.7, §3",
            start("rfc6675", 400),
            |s| {
                s.write(1).fires(Timer::Rto).fires(Timer::Rto).after(400).ack(1);
                s.write(1).after(400).ack(2).write(1);
            },
        );
        cases.add("a timestamp ends the back-off at once", "RFC 7323 §4.1", start("rfc6675", 400), |s| {
            s.write(1).fires(Timer::Rto).fires(Timer::Rto).echoing(3600).after(400).ack(1).write(1);
        });
    })
}

fn rto_restart() -> File {
    let about = About {
        mechanism: "rto-restart",
        about: "With fewer than four segments outstanding, or outstanding and unsent, the timer counts from the transmission of the earliest outstanding segment",
        source: "tail-loss paper §2.1; RFC 7765 §4",
        settings: &["rto_restart", "rto_restart_counts_unsent"],
        given: &["rto_ns", "outstanding", "unsent"],
        expect: &["rto_at_ns"],
    };
    about.file(|cases| {
        let with = start("linux-3.17+rtor", 80);
        cases.add(
            "three outstanding segments are few enough, four are not",
            "tail-loss paper §2.1; RFC 7765 §4, rrthresh",
            with,
            |s| {
                s.write(10).at(80).ack(6).at(85).ack(7).at(90).ack(9);
            },
        );
        cases.add(
            "without the mechanism the timer counts from the ACK",
            "RFC 6298 §5.3",
            start("linux-3.17", 80),
            |s| {
                s.write(10).at(80).ack(6).at(85).ack(7).at(90).ack(9);
            },
        );
        for (profile, name, source) in [
            ("linux-3.17+rtor", "unsent data does not count in the paper", "tail-loss paper §2.1"),
            ("linux-3.17+rtorrfc", "unsent data counts in the RFC", "RFC 7765 §4"),
        ] {
            let narrow = Start { window: 10 * MSS, ..start(profile, 80) };
            cases.add(name, source, narrow, |s| {
                s.write(12).at(80).window(2 * MSS).ack(8).at(85).window(MSS).ack(9);
            });
        }
        cases.add("if nothing of the RTO is left, all of it applies", "RFC 7765 §4 step 3b", with, |s| {
            s.write(3).at(80).sack(0, &[2..=2]).fires(Timer::Early).at(320).ack(2);
        });
        cases.add("the earliest segment's last transmission counts", "RFC 7765 §4, T_earliest", with, |s| {
            s.write(3).at(80).sack(0, &[3..=3]).fires(Timer::Early).at(180).sack(1, &[3..=3]);
        });
    })
}
