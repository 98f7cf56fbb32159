//! Tail loss probes, and selective loss prevention.

use crate::format::File;
use crate::script::{About, MSS, Start, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![tail_loss_probe(), tlp_restart(), selective_loss_prevention()]
}

fn tail_loss_probe() -> File {
    let about = About {
        mechanism: "tail-loss-probe",
        about: "When the probe timer runs, what the probe is, and whether its answer shows that it repaired a loss",
        source: "draft-dukkipati-tcpm-tcp-loss-probe-01 §2, §3; RFC 8985 §7; Linux 6.12 tcp_schedule_loss_probe, tcp_process_tlp_ack",
        settings: &["probe_version"],
        given: &["srtt_ns", "rto_ns", "outstanding", "state"],
        expect: &["probe_at_ns", "rto_at_ns", "probe_repaired_loss", "next"],
    };
    about.file(|cases| {
        for (version, profile) in
            [("draft-01", "linux-3.17+tlp"), ("RFC 8985", "linux-3.17+tlprfc"), ("Linux 6", "linux-6")]
        {
            let name = |what: &str| format!("{version}: {what}");
            let (source, answer) = match version {
                "draft-01" => ("draft-01 §2.1", "draft-01 §3.2"),
                "RFC 8985" => ("RFC 8985 §7.2", "RFC 8985 §7.4.2"),
                _ => ("tcp_schedule_loss_probe", "tcp_process_tlp_ack"),
            };
            cases.add(
                &name("the timer with several segments outstanding, and with one"),
                source,
                start(profile, 200),
                |s| {
                    s.write(5).at(200).ack(4).at(210).ack(5);
                },
            );
            cases.add(&name("a probe due later than the RTO replaces it"), source, start(profile, 80), |s| {
                s.write(1).fires(Timer::Probe).fires(Timer::Rto);
            });
            cases.add(&name("a probe that repaired a loss costs a reduction"), answer, start(profile, 200), |s| {
                s.write(10).at(200).ack(9).fires(Timer::Probe);
                s.after(200).ack(10).write(3).after(200).ack(11);
            });
            cases.add(&name("a DSACK shows that the original arrived"), answer, start(profile, 200), |s| {
                s.write(10).at(200).ack(9).fires(Timer::Probe);
                s.after(50).ack(10).write(3).after(200).sack(13, &[10..=10]);
            });
            cases.add(&name("so does a duplicate ACK of the probe"), answer, start(profile, 200), |s| {
                s.write(10).at(200).ack(9).fires(Timer::Probe);
                s.after(50).ack(10).after(150).ack(10).write(3).after(200).ack(13);
            });
        }
        cases.add("new data is the probe even if the window is full", "RFC 8985 §7.3", start("linux-6", 200), |s| {
            s.write(20).fires(Timer::Probe).after(100).ack(8);
        });
        let narrow = Start { window: 10 * MSS, ..start("linux-6", 200) };
        cases.add("the peer's window binds the probe", "RFC 8985 §7.3", narrow, |s| {
            s.write(20).fires(Timer::Probe);
        });
        cases.add("no probe without SACK", "RFC 8985 §7.1", Start { sack: false, ..start("linux-6", 80) }, |s| {
            s.write(3);
        });
        cases.add(
            "no probe after a SACK, which starts RACK's timer",
            "RFC 8985 §7.2, §8",
            start("linux-6+tlprfc", 200),
            |s| {
                s.write(10).at(200).ack(4).at(201).sack(4, &[6..=6]);
            },
        );
        cases.add("no probe after a timeout", "RFC 8985 §7.2", start("linux-3.17+tlprfc", 200), |s| {
            s.write(10).at(200).ack(7).fires(Timer::Probe).fires(Timer::Rto);
            s.after(200).ack(8);
        });
    })
}

fn tlp_restart() -> File {
    let about = About {
        mechanism: "tlp-restart",
        about: "The probe timeout counts from the last transmission instead of from the last ACK",
        source: "tail-loss paper §2.3",
        settings: &["probe_version", "probe_restart"],
        given: &["srtt_ns", "rto_ns", "outstanding"],
        expect: &["probe_at_ns", "next"],
    };
    about.file(|cases| {
        let with = start("linux-3.17+tlpr", 200);
        cases.add("the timer counts from the last transmission", "§2.3", with, |s| {
            s.write(10).at(200).ack(5).at(210).ack(9).fires(Timer::Probe);
        });
        cases.add(
            "the RTO caps the probe timeout before the elapsed time is taken off",
            "§2.3",
            start("linux-3.17+tlpr", 80),
            |s| {
                s.write(10).at(80).ack(9);
            },
        );
        cases.add("an overdue probe is sent at once", "§2.3", with, |s| {
            s.write(10).at(200).sack(0, &[2..=2]).at(500).ack(8).fires(Timer::Probe);
        });
        cases.add("with RFC 8985's timeout", "§2.3; RFC 8985 §7.2", start("linux-6+tlprfc+tlpr", 200), |s| {
            s.write(10).at(200).ack(5).at(210).ack(9).fires(Timer::Probe);
        });
    })
}

fn selective_loss_prevention() -> File {
    let about = About {
        mechanism: "slp",
        about: "Which segments are worth an extra copy, when the copy follows, and when it is dropped",
        source: "Selective Loss Prevention (2021) §II-C",
        settings: &["loss_ppm", "push_ppm", "bandwidth_bits_per_s", "gap_ppm"],
        given: &["srtt_ns", "rto_ns", "cwnd", "pipe"],
        expect: &["copy_at_ns", "next"],
    };
    about.file(|cases| {
        let slow = start("linux-3.17+slp", 400);
        cases.add("a segment with PSH is copied where the RTO is long", "§II-C1", slow, |s| {
            s.write(2).fires(Timer::Copy).at(400).ack(2);
        });
        cases.add(
            "a segment with PSH is not copied where the RTO is short",
            "§II-C1",
            start("linux-3.17+slp", 80),
            |s| {
                s.write(2).at(80).ack(2);
            },
        );
        cases.add(
            "an ACK of the original during the gap drops the copy",
            "§II-C2",
            start("linux-3.17+slp", 400),
            |s| {
                s.write(2).at(40).ack(2);
            },
        );
        cases.add("one copy at a time", "§II-C2", slow, |s| {
            s.write(2).fires(Timer::Copy).at(100).write(2).at(400).ack(2).at(500).ack(4).write(1);
        });
        cases.add("a copy that would fill the congestion window is not sent", "§II-C2", slow, |s| {
            s.write(9).at(400).ack(9);
        });
        cases.add(
            "a copy takes a segment of the window from new data until it is acknowledged",
            "§II-C2",
            slow,
            |s| {
                s.write(8).at(10).write(2).fires(Timer::Copy).at(400).ack(7).at(401).ack(8);
            },
        );
    })
}
