//! When the pacing rate lets the next segment leave.

use crate::format::File;
use crate::script::{About, Start, packets, start};

pub fn files() -> Vec<File> {
    let about = About {
        mechanism: "pacing",
        about: "The pacing rate, and when the next segment may leave: ten full segments leave together after a pause, the others at the rate",
        source: "Linux 6.12 tcp_update_pacing_rate; RFC 9002 §7.7",
        settings: &["initial_window"],
        given: &["srtt_ns", "cwnd", "ssthresh", "outstanding"],
        expect: &["pacing_bits_per_s", "departure_at_ns", "next"],
    };
    let paced = |start| Start { paced: true, ..start };
    let numbered = paced(packets("rfc9002", 80));
    vec![about.file(|cases| {
        cases.add(
            "before the first RTT sample nothing is paced",
            "RFC 9002 §7.7",
            Start { rtt: None, ..numbered },
            |s| {
                s.write(12);
            },
        );
        cases.add("slow start: 200 % of the window in a round trip", "tcp_update_pacing_rate", numbered, |s| {
            s.write(30).at(80).acks(&[0..=9]);
            for _ in 0..4 {
                s.departs();
            }
            s.at(160).acks(&[0..=19]);
        });
        cases.add("congestion avoidance: 120 %", "tcp_update_pacing_rate", numbered, |s| {
            s.write(40).at(80).acks(&[0..=9]).congested();
            s.at(160).acks(&[0..=19]).departs();
        });
        cases.add("after a pause ten segments leave together again, and no more", "RFC 9002 §7.7", numbered, |s| {
            s.write(20).at(80).acks(&[0..=9]);
            while s.sent_and_acked().0 < 20 {
                s.departs();
            }
            s.at(170).acks(&[0..=19]).at(400).write(12);
            s.departs().departs();
        });
        cases.add(
            "where windows count bytes, a small packet takes the time of its bytes",
            "RFC 9002 §7.7",
            Start { count_bytes: true, ..numbered },
            |s| {
                s.sized(250).write(200).at(80).acks(&[0..=36]);
                s.departs().departs();
            },
        );
        cases.add(
            "where windows count segments, it takes the time of a full one",
            "Linux counts packets",
            numbered,
            |s| {
                s.sized(250).write(30).at(80).acks(&[0..=9]).departs();
            },
        );
        cases.add(
            "segments of a stream take the time of their bytes",
            "RFC 9002 §7.7",
            paced(start("linux-6", 80)),
            |s| {
                s.write(9).write_bytes(400).at(80).ack(9);
                s.at(81).write(12).departs();
            },
        );
    })]
}
