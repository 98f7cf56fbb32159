use super::*;
use crate::profile::Profile;

/// A sender taken over after any of its ACKs continues as one followed from the SYN on.
#[test]
fn a_sender_taken_over_goes_on_as_one_followed_from_the_beginning() {
    for name in ["linux-3.17+tlp", "linux-6", "rfc6675", "windows-xp"] {
        let profile: Profile = name.parse().unwrap();
        for taken_at in 0..8 {
            let (mut whole, state) = begun(profile.mechanisms(), taken_at);
            let mut resumed = Sender::new(profile.mechanisms(), 100, Trigger::Syn, false);
            resumed.resume(state);
            for sender in [&whole, &resumed] {
                sender.check().unwrap();
            }
            let place = format!("{name}, after {taken_at} ACKs");
            for timer in [Timer::Rto, Timer::Probe] {
                assert_eq!(whole.deadline(timer), resumed.deadline(timer), "{place}");
            }
            // The next is lost, the others arrive.
            let una = whole.una();
            let now = Instant::from_millis(400);
            for later in 2..=5 {
                let sacked = Span::new(una + 100, una + later * 100);
                let ack = Ack::new(una, 50_000).with_blocks([sacked]);
                let ours = whole.on_ack(now, &ack);
                let theirs = resumed.on_ack(now, &ack);
                let ours = crate::AckSummary {
                    newest_number: theirs.newest_number, // one of them did not send the SYN
                    ..ours
                };
                assert_eq!(theirs, ours, "{place}");
                assert_eq!(whole.state(), resumed.state(), "{place}");
                assert_eq!(
                    whole.board().next_lost().map(|s| s.span),
                    resumed.board().next_lost().map(|s| s.span),
                    "{place}"
                );
            }
            assert_eq!(whole.state(), State::Recovery, "{place}");
        }
    }
}

/// Sixteen segments of 100 bytes go out after the handshake; `acks` of them are acknowledged.
fn begun(mechanisms: &Mechanisms, acks: u64) -> (Sender, ResumeState<Vec<(Instant, Span)>>) {
    let mut sender = Sender::new(mechanisms, 100, Trigger::Syn, false);
    let syn = Span::new(Offset::SYN, Offset::DATA);
    sender.on_sent(Instant::ZERO, Transmission::New(syn));
    let mut advanced_at = Instant::from_millis(50);
    sender.on_ack(advanced_at, &Ack::new(Offset::DATA, 50_000));
    sender.on_written(advanced_at, 1600);
    let sent_at = Instant::from_millis(60);
    for i in 0..16 {
        let span = Span::at(Offset::DATA + i * 100, 100);
        sender.on_sent(sent_at, Transmission::New(span));
    }
    for i in 1..=acks {
        advanced_at = Instant::from_millis(110 + i);
        sender.on_ack(advanced_at, &Ack::new(Offset::DATA + i * 100, 50_000));
    }
    let state = ResumeState {
        una: sender.una(),
        window_edge: sender.una() + 50_000,
        rtt: *sender.rtt(),
        advanced_at,
        outstanding: sender.board().iter().map(|s| (s.sent_at, s.span)).collect(),
    };
    (sender, state)
}
