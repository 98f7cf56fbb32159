//! Windows that count bytes.

use crate::format::File;
use crate::script::{About, Start, packets, start};

pub fn files() -> Vec<File> {
    let about = About {
        mechanism: "byte-windows",
        about: "A small segment fills the congestion window, and makes it grow, by its own bytes; the window is whole full segments",
        source: "RFC 9002 §7, appendix B; RFC 3465 §2.1",
        settings: &["congestion_control", "initial_window"],
        given: &["state", "ssthresh"],
        expect: &["bytes_in_flight", "pipe", "cwnd", "next"],
    };
    let bytes = Start { count_bytes: true, ..packets("rfc9002", 80) };
    let segments = packets("rfc9002", 80);
    vec![about.file(|cases| {
        cases.add("packets of 200 bytes are sent while a full one fits", "RFC 9002 §7", bytes, |s| {
            s.sized(200).write(60);
        });
        cases.add("where windows count segments, ten of them fill it", "Linux tcp_cwnd_test", segments, |s| {
            s.sized(200).write(60);
        });
        cases.add(
            "slow start: the window grows by the bytes acknowledged, when they make a full packet",
            "RFC 9002 §7.3.1",
            bytes,
            |s| {
                s.sized(200).write(200).at(80).acks(&[0..=3]);
                s.at(81).acks(&[0..=4]).at(82).acks(&[0..=14]);
            },
        );
        cases.add(
            "congestion avoidance: a window of bytes is acknowledged before it grows",
            "RFC 9002 §7.3.3",
            bytes,
            |s| {
                s.congested().sized(500).write(60).at(80).acks(&[0..=4]);
                s.at(81).acks(&[0..=8]).at(160).acks(&[0..=13]);
                s.at(161).acks(&[0..=17]);
            },
        );
        cases.add("full and small packets together", "RFC 9002 §7", bytes, |s| {
            s.write(5).sized(300).write(30).at(80).acks(&[0..=4]);
            s.at(81).acks(&[0..=11]);
        });
        cases.add("lost packets leave by their bytes", "RFC 9002 §7.3.2", bytes, |s| {
            s.sized(500).write(40).at(80).acks(&[2..=6]);
            s.at(81).acks(&[2..=10]);
        });
        cases.add(
            "a stream of small segments",
            "RFC 3465 §2.1",
            Start { count_bytes: true, ..start("rfc9002", 80) },
            |s| {
                s.write_small(16, 900).at(80).ack(1).at(81).ack(2);
                s.at(82).sack(2, &[4..=8]);
            },
        );
    })]
}
