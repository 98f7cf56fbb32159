//! How the window falls in recovery and after a congestion signal.

use crate::format::File;
use crate::script::{About, Script, start};

pub fn files() -> Vec<File> {
    vec![prr(), rate_halving()]
}

const GIVEN: &[&str] = &["state", "ssthresh", "delivered", "newly_lost", "acked_bytes", "pipe"];

/// The inputs of PRR where a reduction begins.
const PRR_GIVEN: &[&str] =
    &["state", "ssthresh", "outstanding", "sacked", "delivered", "newly_lost", "acked_bytes", "pipe"];

/// A window of twenty in flight, segments 11 to 30, from 100 ms on.
fn twenty(s: &mut Script) {
    s.write(10).at(100).ack(10).write(60);
}

/// Segment 11 is lost. The first ACK SACKs eight segments, the others one each.
fn one_lost(s: &mut Script) {
    twenty(s);
    s.at(200).sack(10, &[12..=19]);
    for n in 20..=30 {
        s.at(181 + n).sack(10, &[12..=n]);
    }
    s.at(301).ack(30).at(302).ack(31);
}

/// Segments 11 to 24 are lost.
fn many_lost(s: &mut Script) {
    twenty(s);
    s.acknowledged(&[
        (200, 10, &[25..=28]),
        (201, 10, &[25..=29]),
        (202, 10, &[25..=30]),
        (300, 11, &[25..=30]),
        (301, 12, &[25..=30]),
        (302, 13, &[25..=30]),
    ]);
}

/// Nothing is written for a while: deliveries are saved up.
fn saved_up(s: &mut Script) {
    s.write(10).at(100).ack(10).write(20);
    s.at(200).sack(10, &[12..=19]).at(201).sack(10, &[12..=24]).at(202).write(10);
    s.at(203).sack(10, &[12..=25]).at(204).sack(10, &[12..=26]);
}

/// Eighteen segments in flight, 11 to 28, and a window of twenty. Segment 11 is lost, and two had arrived before the
/// SACK that begins recovery.
fn window_not_full(s: &mut Script) {
    s.write(10).at(100).ack(10).write(18);
    s.at(200).sack(10, &[12..=12]).at(201).sack(10, &[12..=13]).at(202).sack(10, &[12..=14]).write(60);
    for n in 15..=22 {
        s.at(188 + n).sack(10, &[12..=n]);
    }
}

fn prr() -> File {
    let about = About {
        mechanism: "prr",
        about: "Proportional rate reduction: the window in recovery, by the data each ACK delivers; pipe is that after the ACK, before anything is sent for it",
        source: "RFC 6937 §3; RFC 9937 §6; the 2011 paper's algorithm 2",
        settings: &["rate_control", "recover_fs"],
        given: PRR_GIVEN,
        expect: &["cwnd"],
    };
    about.file(|cases| {
        for (profile, bound, source) in [
            ("linux-6+reno+notlp+prrcrb", "PRR-CRB", "RFC 6937 §3"),
            ("linux-6+reno+notlp+prr", "PRR-SSRB", "RFC 6937 §3"),
            ("linux-6+reno+notlp+prrsafe", "SafeACK", "RFC 9937 §6"),
        ] {
            let begins = start(profile, 100);
            cases.add(&format!("{bound}: one loss of twenty"), source, begins, one_lost);
            cases.add(&format!("{bound}: fourteen losses of twenty"), source, begins, many_lost);
        }
        cases.add(
            "the unlimited bound: fourteen losses of twenty",
            "the 2011 paper's algorithm 1 as a bound of PRR",
            start("linux-6+reno+notlp+prrub", 100),
            many_lost,
        );
        cases.add(
            "deliveries without data to send are saved up",
            "the 2011 paper §4.3, property 3",
            start("linux-6+reno+notlp+prr", 100),
            saved_up,
        );
        for (profile, flight, source) in [
            ("linux-6+reno+notlp+prr", "the flight size", "the 2011 paper's algorithm 2; RFC 6937 §3"),
            ("linux-6+reno+notlp+prrsafe", "the flight that had not arrived before", "RFC 9937 §6.1"),
            ("linux-6+reno+notlp+prrlinux", "the window", "Linux tcp_init_cwnd_reduction"),
        ] {
            cases.add(&format!("RecoverFS is {flight}"), source, start(profile, 100), window_not_full);
        }
        cases.add(
            "an ACK that advances and reveals a further loss is not safe",
            "RFC 9937 §6.2",
            start("linux-6+reno+notlp", 80),
            |s| {
                s.write(40).at(80).sack(0, &[2..=6]).at(160).ack(6);
            },
        );
        cases.add(
            "a congestion signal reduces by the same rule",
            "RFC 6937 §3",
            start("linux-6+reno+notlp", 100),
            |s| {
                twenty(s);
                s.at(200).congested();
                for n in 11..=18 {
                    s.at(190 + n).ack(n);
                }
                s.at(210).ack(30).at(301).ack(31);
            },
        );
        cases.add(
            "with CUBIC seven segments are sent per ten delivered",
            "the 2011 paper §4",
            start("linux-6+notlp", 100),
            one_lost,
        );
    })
}

fn rate_halving() -> File {
    let about = About {
        mechanism: "rate-halving",
        about: "In recovery every second ACK takes a segment off the window, which is at most one more than is in flight",
        source: "Mathis, Semke and Mahdavi, The rate-halving algorithm (1999); Linux 2.6 tcp_cwnd_down, tcp_complete_cwr",
        settings: &["rate_control", "congestion_control"],
        given: GIVEN,
        expect: &["cwnd"],
    };
    about.file(|cases| {
        let linux = start("linux-3.17+reno+halving", 100);
        cases.add("one loss of twenty", "tcp_cwnd_down", linux, one_lost);
        cases.add("fourteen losses of twenty", "tcp_cwnd_down", linux, many_lost);
        cases.add("a window that recovery wore away stays below ssthresh", "tcp_complete_cwr", linux, |s| {
            s.write(10).at(100).sack(0, &[2..=5]).at(101).sack(0, &[2..=10]).at(200).ack(10);
        });
        cases.add("a congestion signal", "tcp_enter_cwr", linux, |s| {
            twenty(s);
            s.at(200).congested();
            for n in 11..=16 {
                s.at(190 + n).ack(n);
            }
        });
        cases.add("with CUBIC", "tcp_cwnd_min", start("linux-3.17+halving", 100), one_lost);
    })
}
