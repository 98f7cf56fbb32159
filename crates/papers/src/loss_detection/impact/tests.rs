use super::*;

#[test]
fn most_senders_can_be_studied() {
    let mut experiments = super::super::EXPERIMENTS.iter();
    let experiment = experiments.find(|one| one.name == "fig4").unwrap();
    let setup = Setup::new(experiment, Effort::Quick).unwrap();
    let impact = Impact::simulate(&setup, 200).unwrap();
    for (study, system) in impact.0.iter().zip(&System::ALL) {
        let refused = study.study.refused.by_count();
        assert!(study.senders.len() > 50, "{}: {refused:?}", system.name);
        let singles = study.study.instances.singles().len();
        assert!(study.senders.iter().all(|one| one.saved.len() == singles));
    }
}
