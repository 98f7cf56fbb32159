//! Loss detection by time.

use crate::format::File;
use crate::script::{About, Script, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    vec![rack()]
}

const RFC: &str = "linux-6+rack+notlp";
const LINUX: &str = "linux-6+notlp";

/// Segment 1 of ten arrives 1 ms after segment 2: the path reorders. All ten are acknowledged.
fn reorders(s: &mut Script) {
    s.write(10).at(80).sack(0, &[2..=2]).at(81).ack(2).at(82).ack(10);
}

fn rack() -> File {
    let about = About {
        mechanism: "rack",
        about: "A segment is lost once another sent later was delivered and the reordering window has passed",
        source: "RFC 8985 §6; Linux 6.12 tcp_rack_detect_loss, tcp_rack_reo_wnd",
        settings: &["loss_rule", "dupthresh"],
        given: &["srtt_ns", "min_rtt_ns"],
        expect: &["state", "reorder_at_ns", "marked_lost"],
    };
    about.file(|cases| {
        for (profile, whose) in [(RFC, "RFC 8985"), (LINUX, "Linux 6")] {
            cases.add(
                &format!("{whose}: a late segment has a quarter of the least round-trip time to arrive"),
                "RFC 8985 §6.2 steps 4 and 5",
                start(profile, 80),
                |s| {
                    s.write(10).at(80).sack(0, &[2..=2]).fires(Timer::Reorder);
                },
            );
            cases.add(
                &format!("{whose}: three SACKed segments end the wait on a path that never reordered"),
                "RFC 8985 §6.2 step 4",
                start(profile, 80),
                |s| {
                    s.write(10).at(80).sack(0, &[2..=3]).at(81).sack(0, &[2..=4]);
                },
            );
            cases.add(
                &format!("{whose}: DSACKs widen the window once a round trip"),
                "RFC 8985 §6.2 step 4",
                start(profile, 80),
                |s| {
                    reorders(s);
                    s.at(120).write(6).at(200).sack(10, &[13..=14]).fires(Timer::Reorder);
                    s.at(223).sack(10, &[13..=15]).at(224).ack(16).write(6);
                    s.at(302).sack(16, &[11..=11]).at(303).sack(16, &[12..=12]).at(305).sack(16, &[18..=18]);
                },
            );
        }
        let rfc = start(RFC, 80);
        cases.add("the late segment stops the timer", "RFC 8985 §6.2 step 5", rfc, |s| {
            s.write(10).at(80).sack(0, &[2..=2]).at(90).ack(2);
        });
        cases.add(
            "on a path that reorders three SACKed segments do not end the wait",
            "RFC 8985 §6.2 step 4",
            rfc,
            |s| {
                reorders(s);
                s.at(120).write(6).at(200).sack(10, &[12..=14]).fires(Timer::Reorder);
            },
        );
        cases.add("in recovery losses are marked without a wait", "RFC 8985 §6.2 step 4", rfc, |s| {
            s.write(10).at(80).sack(0, &[2..=6]).at(81).sack(0, &[8..=8, 2..=6]);
        });
        cases.add("in recovery on a path that reorders the window stays", "RFC 8985 §6.2 step 4", rfc, |s| {
            reorders(s);
            s.at(120).write(6).at(200).sack(10, &[12..=12]).fires(Timer::Reorder);
            s.at(223).sack(10, &[14..=14, 12..=12]).fires(Timer::Reorder);
        });
        cases.add("the timer waits for the newest segment in doubt", "RFC 8985 §6.2 step 5", rfc, |s| {
            s.at(5).write(1).at(10).write(1).at(15).write(1).at(95).sack(0, &[3..=3]).fires(Timer::Reorder);
        });
        cases.add(
            "a retransmission is lost once a segment sent after it is SACKed",
            "RFC 8985 §6.2 step 5",
            rfc,
            |s| {
                s.write(20).acknowledged(&[
                    (80, 0, &[2..=6]),
                    (81, 0, &[2..=7]),
                    (82, 0, &[2..=10]),
                    (161, 0, &[2..=11]),
                ]);
            },
        );
        cases.add(
            "an ACK sooner than the least round-trip time is for the original",
            "RFC 8985 §6.2 step 2",
            rfc,
            |s| {
                s.write(10).at(80).sack(0, &[2..=6]).at(85).ack(6);
            },
        );
        cases.add(
            "an ACK after the least round-trip time is for the retransmission",
            "RFC 8985 §6.2 step 2",
            rfc,
            |s| {
                s.write(10).at(80).sack(0, &[2..=6]).at(160).ack(6);
            },
        );
        cases.add("a timeout leaves segments sent less than a round-trip time ago", "RFC 8985 §6.3", rfc, |s| {
            s.write(5).at(260).write(3).fires(Timer::Rto).after(80).ack(1);
        });
    })
}
