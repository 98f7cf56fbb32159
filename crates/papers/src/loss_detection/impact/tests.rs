use super::*;

#[test]
fn most_senders_can_be_studied() {
    let setup = crate::experiment::setup_of(NAME, "fig4", Effort::Quick);
    let impact = Impact::simulate(&setup, 200).unwrap();
    for (study, system) in impact.0.iter().zip(&System::ALL) {
        let refused = study.study.refused.by_count();
        assert!(study.senders.len() > 50, "{}: {refused:?}", system.name);
        let singles = study.study.instances.singles().len();
        assert!(study.senders.iter().all(|one| one.saved.len() == singles));
    }
}
