//! QUIC's loss recovery. Packets are numbered from 0, and lost ones are not replaced.

use crate::format::File;
use crate::script::{About, Start, packets};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![rtt(), loss_detection(), probe_timeout(), congestion()]
}

const PROFILE: &str = "rfc9002";

fn without_sample() -> Start {
    Start { rtt: None, ..packets(PROFILE, 0) }
}

fn rtt() -> File {
    let about = About {
        mechanism: "rfc9002-rtt",
        about: "The round-trip time estimator: which ACKs give a sample, and how the receiver's delay is subtracted; max_ack_delay is 25 ms",
        source: "RFC 9002 §5",
        settings: &[],
        given: &[],
        expect: &["rtt_sample_ns", "srtt_ns", "rttvar_ns", "min_rtt_ns"],
    };
    about.file(|cases| {
        cases.add("the first sample ignores the receiver's delay", "RFC 9002 §5.3", without_sample(), |s| {
            s.write(2).at(100).delayed(10).acks(&[0..=0]).at(120).delayed(10).acks(&[0..=1]);
        });
        cases.add("samples are smoothed", "RFC 9002 §5.3", packets(PROFILE, 80), |s| {
            for (n, ms) in (0..).zip([96, 80, 120, 70, 80]) {
                s.write(1).after(ms).acks(&[0..=n]);
            }
        });
        cases.add("the receiver's delay is subtracted, at most 25 ms", "RFC 9002 §5.3", packets(PROFILE, 80), |s| {
            s.write(1).after(104).delayed(16).acks(&[0..=0]).write(1).after(128).delayed(90).acks(&[0..=1]);
        });
        cases.add(
            "it is not subtracted where the result would be below min_rtt",
            "RFC 9002 §5.3",
            packets(PROFILE, 80),
            |s| {
                s.write(1).after(104).delayed(24).acks(&[0..=0]).write(1).after(104).delayed(25).acks(&[0..=1]);
            },
        );
        cases.add(
            "only an ACK whose largest packet is new gives a sample",
            "RFC 9002 §5.1",
            packets(PROFILE, 80),
            |s| {
                s.write(5).at(80).acks(&[2..=2]).at(90).acks(&[0..=2]).at(95).acks(&[0..=3]);
            },
        );
    })
}

fn loss_detection() -> File {
    let about = About {
        mechanism: "rfc9002-loss-detection",
        about: "Which packets are lost by the packet threshold and by the time threshold, and the timer of the time threshold",
        source: "RFC 9002 §6.1",
        settings: &["loss_rule", "dupthresh"],
        given: &["srtt_ns", "rtt_sample_ns"],
        expect: &["reorder_at_ns", "marked_lost", "late", "pipe"],
    };
    about.file(|cases| {
        let start = packets(PROFILE, 80);
        cases.add("a packet is lost when the third one after it is acknowledged", "RFC 9002 §6.1.1", start, |s| {
            s.write(10).at(80).acks(&[1..=2]).at(81).acks(&[1..=3]);
        });
        cases.add("the distance counts, not the number of packets acknowledged", "RFC 9002 §6.1.1", start, |s| {
            s.write(10).at(80).acks(&[3..=3]);
        });
        cases.add("a packet is lost 9/8 of a round-trip time after it was sent", "RFC 9002 §6.1.2", start, |s| {
            s.write(10).at(80).acks(&[2..=2]).fires(Timer::Reorder);
        });
        cases.add("the larger of SRTT and the latest sample counts", "RFC 9002 §6.1.2", start, |s| {
            s.write(10).at(160).acks(&[2..=2]).at(170).acks(&[0..=9]);
        });
        cases.add("the timer stands at the earliest of several packets", "RFC 9002 §6.1.2", start, |s| {
            s.write(1).at(5).write(1).at(10).write(1).at(84).acks(&[2..=2]);
            s.fires(Timer::Reorder).fires(Timer::Reorder);
        });
        cases.add("packets above the largest acknowledged are never lost by time", "RFC 9002 §6.1", start, |s| {
            s.write(10).at(80).acks(&[0..=7]);
        });
        cases.add("an ACK with several ranges", "RFC 9002 §6.1", start, |s| {
            s.write(10).at(80).acks(&[9..=9, 5..=6, 1..=2]).fires(Timer::Reorder);
        });
        cases.add("the late packet stops the timer", "RFC 9002 §6.1.2", start, |s| {
            s.write(10).at(80).acks(&[1..=1]).at(84).acks(&[0..=1]);
        });
        cases.add(
            "a packet acknowledged after it was declared lost was late",
            "RFC 9002 §6.1; RFC 9000 §13.3",
            start,
            |s| {
                s.write(10).at(80).acks(&[1..=3]).at(85).acks(&[0..=3]).at(86).acks(&[0..=3]);
            },
        );
    })
}

fn probe_timeout() -> File {
    let about = About {
        mechanism: "rfc9002-probe-timeout",
        about: "The probe timeout of one packet number space, with two probes on each expiry; max_ack_delay is 25 ms, kInitialRtt 333 ms",
        source: "RFC 9002 §6.2",
        settings: &["probe_version", "max_rto_ns"],
        given: &["srtt_ns", "rttvar_ns", "reorder_at_ns"],
        expect: &["probe_at_ns", "backoff", "marked_lost", "next"],
    };
    about.file(|cases| {
        let start = packets(PROFILE, 80);
        cases.add("it counts from the last packet sent", "RFC 9002 §6.2.1", start, |s| {
            s.write(1).at(20).write(1).at(80).acks(&[0..=0]).at(100).acks(&[0..=1]);
        });
        cases.add(
            "before the first sample it is computed from kInitialRtt",
            "RFC 9002 §6.2.2",
            without_sample(),
            |s| {
                s.write(1);
            },
        );
        cases.add(
            "an expiry sends two packets, marks nothing lost, and doubles the timeout",
            "RFC 9002 §6.2.1, §6.2.4",
            start,
            |s| {
                s.write(30).fires(Timer::Probe).fires(Timer::Probe).fires(Timer::Probe);
            },
        );
        cases.add("an ACK ends the back-off", "RFC 9002 §6.2.1", start, |s| {
            s.write(12).fires(Timer::Probe).at(300).acks(&[0..=0]);
        });
        cases.add("probes ignore the congestion window", "RFC 9002 §7.5", start, |s| {
            s.write(11).fires(Timer::Probe);
        });
        cases.add("the timer does not run while the time threshold's does", "RFC 9002 §6.2.1", start, |s| {
            s.write(10).at(80).acks(&[2..=2]).fires(Timer::Reorder);
        });
        cases.add("it stops when everything is acknowledged", "RFC 9002 §6.2.1", start, |s| {
            s.write(2).at(80).acks(&[0..=1]);
        });
    })
}

fn congestion() -> File {
    let about = About {
        mechanism: "rfc9002-congestion",
        about: "NewReno of RFC 9002: slow start, recovery periods, congestion avoidance, persistent congestion",
        source: "RFC 9002 §7, appendix B",
        settings: &["congestion_control", "ssthresh_from", "initial_window"],
        given: &["newly_lost", "delivered", "pipe"],
        expect: &["cwnd", "ssthresh", "state"],
    };
    about.file(|cases| {
        let start = packets(PROFILE, 80);
        cases.add("slow start, then congestion avoidance", "RFC 9002 §7.3.1, §7.3.3", start, |s| {
            s.write(200).at(80).acks(&[0..=4]).at(81).acks(&[0..=9]).congested();
            s.at(160).acks(&[0..=19]).at(161).acks(&[0..=28]);
            for n in 0..6 {
                s.at(240 + 40 * n).acks(&[0..=33 + 5 * n]);
            }
        });
        cases.add(
            "losses of packets sent before recovery began reduce the window once",
            "RFC 9002 §7.3.2",
            start,
            |s| {
                s.write(60).at(80).acks(&[1..=3]).at(81).acks(&[7..=7, 1..=3]).at(82).acks(&[7..=8, 1..=3]);
            },
        );
        cases.add("recovery ends when a packet sent in it is acknowledged", "RFC 9002 §7.3.2", start, |s| {
            s.write(60).at(80).acks(&[1..=3]).at(81).acks(&[5..=7, 1..=3]);
            s.at(161).acks(&[10..=10, 5..=7, 1..=3]).at(162).acks(&[10..=12, 5..=7, 1..=3]);
        });
        cases.add("the loss of a packet sent in recovery reduces the window again", "RFC 9002 §7.3.2", start, |s| {
            s.write(60).at(80).acks(&[1..=3]).at(81).acks(&[5..=8, 1..=3]);
            s.at(161).acks(&[13..=13, 5..=8, 1..=3]);
        });
        cases.add("the window does not fall below two packets", "RFC 9002 §7.2", start, |s| {
            for n in 0..4 {
                s.congested().write(1).after(80).acks(&[0..=n]);
            }
        });
        cases.add("the window does not grow while the application limits it", "RFC 9002 §7.8", start, |s| {
            for n in 1..=4 {
                s.write(3).after(80).acks(&[0..=3 * n - 1]);
            }
        });
        cases.add("persistent congestion", "RFC 9002 §7.6", start, |s| {
            s.write(1).at(80).acks(&[0..=0]).write(20);
            s.fires(Timer::Probe).fires(Timer::Probe).fires(Timer::Probe);
            let (sent, _) = s.sent_and_acked();
            s.after(80).acks(&[sent - 1..=sent - 1]);
        });
        cases.add("no persistent congestion if a packet in between was acknowledged", "RFC 9002 §7.6.2", start, |s| {
            s.write(1).at(80).acks(&[0..=0]).write(20);
            s.fires(Timer::Probe).fires(Timer::Probe).fires(Timer::Probe);
            let (sent, _) = s.sent_and_acked();
            s.after(80).acks(&[sent - 1..=sent - 1, sent - 4..=sent - 4]);
        });
    })
}
