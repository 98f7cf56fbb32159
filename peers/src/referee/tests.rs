use super::*;

fn trial(name: GuestName, case: Case) -> Trial {
    Trial::run(&Stack::named(name).unwrap(), case, 1, 0).unwrap().trial
}

#[test]
fn the_last_packet_is_lost_and_sent_again() {
    for name in [OURS, GuestName::Smoltcp] {
        for (case, lost) in [(Case::Tail1, 1), (Case::Tail3, 3)] {
            let trial = trial(name, case);
            let again = trial.again.unwrap();
            assert_eq!(trial.lost, Some(lost), "{}", name.name());
            assert!(trial.completion.is_some_and(|ms| ms > 120.0), "{:?}", trial.completion);
            assert!(again >= lost && trial.timeouts.is_some_and(|timeouts| timeouts > 0), "{trial:?}");
            assert_eq!(trial.tcp.unwrap().agreement.found, again);
        }
    }
}

#[test]
fn nothing_is_lost_and_linux_6_undoes_what_it_did() {
    let trial = trial(OURS, Case::DelaySpike);
    assert_eq!(trial.lost, Some(0));
    assert_eq!(trial.needless, trial.again);
    assert!(trial.again > Some(0) && trial.tcp.unwrap().restored.is_some_and(|share| share > 0.8));
}

#[test]
fn trials_with_one_seed_are_alike() {
    for name in [OURS, GuestName::SmoltcpReno] {
        let lengths = || {
            let finished = Trial::run(&Stack::named(name).unwrap(), Case::Bulk3, 5, 0).unwrap();
            finished.log.packets.iter().map(|sent| (sent.at, sent.bytes.clone())).collect::<Vec<_>>()
        };
        assert_eq!(lengths(), lengths());
    }
}

#[test]
fn quinn_declares_no_packet_lost_that_arrived_in_time() {
    let trial = trial(GuestName::Quinn, Case::Tail2);
    assert_eq!((trial.lost, trial.needless), (Some(2), Some(0)), "{trial:?}");
}

#[test]
fn two_flows_share_a_queue() {
    let trial = trial(GuestName::SmoltcpReno, Case::Shared);
    assert!(trial.completion.zip(trial.beside).is_some_and(|(theirs, ours)| theirs > 1600.0 && ours > 1600.0));
}

#[test]
fn the_page_is_about_the_versions_that_are_built() {
    let page = include_str!("../../../docs/referee.md");
    for name in GuestName::value_variants() {
        let Ok(stack) = Stack::named(*name) else { continue };
        let version = format!("{} {}", stack.about().name, stack.about().version);
        assert!(page.contains(&version), "docs/referee.md is not about {version}: CONTRIBUTING.md says how it is made");
    }
}
