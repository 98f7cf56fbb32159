use crate::report::Report;
use crate::run::run;
use crate::scenario::Scenario;
use recoup_table::Keep;

#[test]
fn the_sentence_names_the_loss_and_each_profiles_time() {
    for (settings, flows, sentence) in [
        (&[][..], 1, "The last of 10 segments was lost once: linux-3.17 takes 783 ms, linux-6 402, linux-6+tlpr 322."),
        (&[("drop", "tail:2")], 1, "The last 2 of 10 segments were lost once: linux-3.17 takes "),
        (&[("segments", "1")], 1, "The only segment was lost once: linux-3.17 takes "),
        (&[("drop", "data:3")], 1, "Segment 3 of 10 segments was lost once: "),
        (&[("drop", "none")], 1, "Without losses: linux-3.17 takes "),
        (&[("drop", "up:syn:1")], 1, "With drop=up:syn:1: linux-3.17 takes "),
        (&[("drop", "bernoulli:0.02")], 50, "With 2 % of the server's packets lost at random: linux-3.17 takes "),
    ] {
        let mut scenario = Scenario::load("tail-loss").unwrap();
        scenario.flows = flows;
        for (key, value) in settings {
            scenario.set(key, value).unwrap();
        }
        let report = Report::new(&scenario, &run(&scenario, 1, |_| ()).unwrap());
        let table = report.to_table(crate::report::View::Cost, Keep::Telling);
        let first = table.lines().next().unwrap();
        assert!(first.starts_with(sentence), "{first}");
        let of_many = first.ends_with("(mean flow completion times of 50 flows).");
        assert_eq!(of_many, flows == 50, "{first}");
    }
}

#[test]
fn without_a_completed_flow_there_is_no_sentence() {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.set("drop", "bernoulli:1").unwrap();
    let report = Report::new(&scenario, &run(&scenario, 1, |_| ()).unwrap());
    let table = report.to_table(crate::report::View::Cost, Keep::Telling);
    assert!(table.starts_with("tail-loss flows=1") && table.contains("0 (0.0 %)"), "{table}");
}
