//! How the window grows, and how far it falls.

use crate::format::File;
use crate::script::{About, Script, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![reno(), cubic(), hystart()]
}

/// `rounds` round trips of `rtt` ms, each with one ACK of everything sent but the last segment: something is
/// always in flight.
fn rounds(s: &mut Script, rtt: u64, rounds: u64) {
    for _ in 0..rounds {
        let (sent, _) = s.sent_and_acked();
        s.after(rtt).ack(sent - 1);
    }
}

/// `rounds` round trips of `rtt` ms, each with an ACK of half of what was sent, and 1 ms later one of the rest.
fn halves(s: &mut Script, rtt: u64, rounds: u64) {
    for _ in 0..rounds {
        let (sent, acked) = s.sent_and_acked();
        s.after(rtt - 1).ack(acked.midpoint(sent)).after(1).ack(sent);
    }
}

fn reno() -> File {
    let about = About {
        mechanism: "reno",
        about: "Slow start, congestion avoidance, and the slow-start threshold after a loss, a congestion signal and a timeout",
        source: "RFC 5681 §3.1; RFC 3168 §6.1.2",
        settings: &["congestion_control", "slow_start_by", "ssthresh_from", "initial_window"],
        given: &["state", "newly_acked", "delivered", "outstanding", "rto_ns"],
        expect: &["cwnd", "ssthresh"],
    };
    about.file(|cases| {
        cases.add("slow start: one segment per ACK", "RFC 5681 §3.1 equation 2, L = 0", start("rfc6675", 80), |s| {
            s.write(200);
            for n in 1..=6 {
                s.at(79 + n).ack(n);
            }
            s.at(90).ack(10);
        });
        cases.add(
            "slow start: one segment per segment delivered",
            "RFC 3465; Linux 6.12 tcp_slow_start",
            start("linux-6+reno+std+notlp", 80),
            |s| {
                s.write(200).at(80).ack(1).at(81).ack(4).at(82).ack(10);
            },
        );
        cases.add(
            "congestion avoidance: one segment per window",
            "RFC 5681 §3.1 equation 3",
            start("linux-6+reno+std+notlp", 80),
            |s| {
                s.write(500).at(80).ack(10).congested();
                halves(s, 80, 6);
            },
        );
        cases.add(
            "a timeout halves the flight, slow start follows up to ssthresh",
            "RFC 5681 §3.1 equation 4",
            start("rfc6675", 80),
            |s| {
                s.write(100).fires(Timer::Rto);
                for _ in 0..9 {
                    let (_, acked) = s.sent_and_acked();
                    s.after(80).ack(acked + 1);
                }
            },
        );
        cases.add("ssthresh is at least two segments", "RFC 5681 §3.1 equation 4", start("rfc6675", 80), |s| {
            s.write(3).fires(Timer::Rto);
        });
        cases.add(
            "the window does not grow while the application limits it",
            "RFC 7661; Linux tcp_is_cwnd_limited",
            start("linux-6+reno+std+notlp", 80),
            |s| {
                for _ in 0..4 {
                    s.write(4);
                    rounds(s, 80, 1);
                }
            },
        );
        cases.add(
            "idle time halves the window once per RTO, down to the initial window",
            "RFC 5681 §4.1; RFC 2861 §2; Linux tcp_cwnd_restart",
            start("linux-6+reno+std+notlp", 80),
            |s| {
                s.write(60);
                rounds(s, 80, 2);
                s.after(80).ack(60).after(600).write(10).after(80).ack(70).after(5000).write(10);
            },
        );
    })
}

fn cubic() -> File {
    let about = About {
        mechanism: "cubic",
        about: "CUBIC in Linux's integer arithmetic: the curve after a reduction, fast convergence, and the bound by Reno's rate. Each growth is by the segments delivered",
        source: "RFC 9438 §4; Linux 6.12 bictcp_update",
        settings: &["congestion_control", "slow_start_by", "ssthresh_from"],
        given: &["state", "delivered", "min_rtt_ns"],
        expect: &["cwnd", "ssthresh"],
    };
    about.file(|cases| {
        let profile = "linux-6+std+notlp";
        cases.add(
            "the curve after a reduction at 145 segments",
            "RFC 9438 §4.2, §4.4, §4.5, §4.6",
            start(profile, 200),
            |s| {
                s.write(20_000);
                rounds(s, 200, 4);
                s.congested();
                rounds(s, 200, 42);
            },
        );
        cases.add("fast convergence: a reduction below the last one", "RFC 9438 §4.7", start(profile, 200), |s| {
            s.write(20_000);
            rounds(s, 200, 4);
            s.congested();
            rounds(s, 200, 3);
            s.congested();
            rounds(s, 200, 20);
        });
        cases.add("on a short path Reno's rate is the bound", "RFC 9438 §4.3", start(profile, 10), |s| {
            s.write(5_000);
            rounds(s, 10, 2);
            s.congested();
            halves(s, 10, 24);
        });
        cases.add(
            "time with nothing in flight does not count",
            "RFC 9438 §4.2; Linux bictcp_cwnd_event",
            start(profile, 200),
            |s| {
                s.write(20_000);
                rounds(s, 200, 4);
                s.congested();
                rounds(s, 200, 3);
                // Every ACK covers all that was sent.
                for _ in 0..6 {
                    let (sent, _) = s.sent_and_acked();
                    s.after(200).ack(sent);
                }
            },
        );
        cases.add("a timeout forgets the curve", "RFC 9438 §4.8", start("linux-6+std+notlp+nofrto", 200), |s| {
            s.write(2_000);
            rounds(s, 200, 1);
            s.fires(Timer::Rto);
            s.after(200).ack(11).after(200).ack(13).after(200).ack(17).after(200).ack(25).after(200).ack(30);
            rounds(s, 200, 4);
        });
        cases.add("ssthresh is at least two segments", "RFC 9438 §4.6", start(profile, 200), |s| {
            s.write(200);
            for _ in 0..4 {
                s.congested();
                rounds(s, 200, 2);
            }
        });
    })
}

fn hystart() -> File {
    let about = About {
        mechanism: "hystart",
        about: "Slow start ends early, by a train of ACKs or by a growing delay; the round-trip time of an ACK is that of the last segment it acknowledges",
        source: "Ha and Rhee, Taming the elephants (2011); Linux 6.12 hystart_update",
        settings: &["congestion_control"],
        given: &["rtt_sample_ns", "min_rtt_ns", "cwnd_before", "una", "nxt"],
        expect: &["ssthresh"],
    };
    about.file(|cases| {
        let profile = "linux-6+std+notlp";
        cases.add(
            "ACKs close together for half a round-trip time",
            "hystart_update, HYSTART_ACK_TRAIN",
            start(profile, 40),
            |s| {
                s.write(1000).at(40).ack(10);
                train(s, 40, 2, 13);
            },
        );
        cases.add("a gap of 3 ms ends the train", "hystart_update, hystart_ack_delta_us", start(profile, 40), |s| {
            s.write(1000).at(40).ack(10);
            train(s, 40, 2, 4);
            train(s, 3, 2, 12);
        });
        cases.add(
            "the least of eight samples has grown by more than an eighth",
            "hystart_update, HYSTART_DELAY",
            start(profile, 80),
            |s| {
                s.write(1000).at(80).ack(10);
                train(s, 91, 3, 12);
            },
        );
        cases.add(
            "growth of an eighth is not enough",
            "hystart_update, HYSTART_DELAY_THRESH",
            start(profile, 80),
            |s| {
                s.write(1000).at(80).ack(10);
                train(s, 90, 3, 12);
            },
        );
        cases.add(
            "growth of an eighth is not enough on a short path: it must be 4 ms",
            "hystart_update, HYSTART_DELAY_MIN",
            start(profile, 8),
            |s| {
                s.write(1000).at(8).ack(10);
                train(s, 12, 3, 12);
            },
        );
        cases.add("a window below sixteen segments", "hystart_low_window", start(profile, 10), |s| {
            s.write(1000);
            train(s, 10, 2, 4);
        });
    })
}

/// After `first` ms, `count` ACKs of one segment each, `gap` ms apart.
fn train(s: &mut Script, first: u64, gap: u64, count: u64) {
    for i in 0..count {
        let (_, acked) = s.sent_and_acked();
        s.after(if i == 0 { first } else { gap }).ack(acked + 1);
    }
}
