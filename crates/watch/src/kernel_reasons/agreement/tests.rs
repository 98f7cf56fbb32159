use super::*;

#[test]
fn each_trigger_agrees_with_a_reason_and_each_reason_with_a_trigger() {
    for trigger in Trigger::ALL {
        assert!(Reason::ALL.into_iter().any(|reason| agrees(trigger.into(), reason)), "{trigger:?}");
    }
    for reason in Reason::ALL.into_iter().filter(|reason| *reason != Reason::Unknown) {
        assert!(Trigger::ALL.into_iter().any(|trigger| agrees(trigger.into(), reason)), "{reason:?}");
    }
    assert!(!agrees(Triggers::UNKNOWN, Reason::Fast));
}

#[test]
fn of_two_triggers_the_one_that_agrees_counts() {
    let mut agreement = Agreement::default();
    let either = Triggers::either(Trigger::Tlp, Trigger::Rto);
    agreement.begin(either, Reason::Timeout);
    agreement.begin(either, Reason::Fast);
    assert_eq!(agreement.pairs[Trigger::Rto as usize][Reason::Timeout as usize], 1);
    assert_eq!(agreement.pairs[Trigger::Tlp as usize][Reason::Fast as usize], 1);
    assert_eq!(
        agreement.summary(),
        "the kernel's reasons: 1 of 2 agree (50.0 %). They differ: 1 tlp (kernel: fast retransmission)"
    );
}

#[test]
fn a_trigger_that_changes_moves_its_pair_and_stays_in_the_first_counts() {
    let mut agreement = Agreement::default();
    agreement.begin(Trigger::Tlp.into(), Reason::Timeout);
    agreement.remove(Trigger::Tlp.into(), Reason::Timeout);
    agreement.add(Trigger::Rto.into(), Reason::Timeout);
    assert_eq!(agreement.summary(), "the kernel's reasons: 1 of 1 agree (100.0 %)");
    assert_eq!(agreement.first[Trigger::Tlp as usize][Reason::Timeout as usize], 1);
    assert_eq!(agreement.first[Trigger::Rto as usize][Reason::Timeout as usize], 0);
}

#[test]
fn what_cannot_be_compared_is_said_apart() {
    let mut agreement = Agreement { elsewhere: 1200, unsent: 3, unreported: 4, unseen: 6, ..Agreement::default() };
    agreement.begin(Triggers::UNKNOWN, Reason::Fast);
    agreement.begin(Trigger::Fast.into(), Reason::Unknown);
    agreement.without[Trigger::Fast as usize] = 2;
    agreement.missed[Reason::Timeout as usize] = 5;
    let expected = "the kernel's reasons: 0 of 0 agree; 1 have no trigger; 1 left the kernel in a state that shows no reason; \
                    2 were not reported by the kernel; 1,200 are of senders that the kernel reports nothing of; \
                    5 were reported by the kernel and not found; \
                    6 were reported by the kernel and not found, of senders that were not captured from the start; 3 could not be passed on by the kernel; \
                    4 could not be reported by the kernel";
    assert_eq!(agreement.summary(), expected);
}
