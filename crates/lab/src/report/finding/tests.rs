use crate::report::{Report, View};
use crate::run::run;
use crate::scenario::Scenario;
use crate::sweep::{Sweep, SweepReport};
use recoup_table::Keep;
use serde_json::Value;

fn report(flows: u64, settings: &[(&str, &str)]) -> Report {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.flows = flows;
    for (key, value) in settings {
        scenario.set(key, value).unwrap();
    }
    Report::new(&scenario, &run(&scenario, 1, |_| ()).unwrap())
}

fn headline(report: &Report) -> String {
    report.to_table(View::Cost, Keep::Telling).lines().next().unwrap().to_owned()
}

#[test]
fn the_sentence_names_the_loss_and_each_profiles_time() {
    for (settings, sentence) in [
        (&[][..], "The last of 10 segments was lost once: linux-3.17 takes 783 ms, linux-6 402, linux-6+tlpr 322."),
        (&[("drop", "tail:2")], "The last 2 of 10 segments were lost once: linux-3.17 takes "),
        (&[("segments", "1")], "The only segment was lost once: linux-3.17 takes "),
        (&[("drop", "data:3")], "Segment 3 of 10 segments was lost once: "),
        (&[("drop", "none")], "Without losses: linux-3.17 takes "),
        (&[("drop", "up:syn:1")], "With drop=up:syn:1: linux-3.17 takes "),
    ] {
        let line = headline(&report(1, settings));
        assert!(line.starts_with(sentence) && !line.contains("compared"), "{line}");
    }
    let of_many = headline(&report(50, &[]));
    let expected = "linux-3.17 takes 783 ms, linux-6 402 (shorter), linux-6+tlpr 322 (shorter): mean FCT of 50 flows, compared with linux-3.17.";
    assert!(of_many.ends_with(expected), "{of_many}");
    let of_few = headline(&report(5, &[("drop", "bernoulli:0.2")]));
    assert!(of_few.contains(" (too few flows to compare)"), "{of_few}");
}

/// The headline goes by the mean, also where medians differ, and it has the words of JSON, table and sweep.
#[test]
fn headline_table_sweep_and_json_have_one_verdict() {
    let (mut decided, mut undecided) = (0, 0);
    for (flows, drop) in [(30, "bernoulli:0.03"), (300, "bernoulli:0.1"), (40, "bernoulli:0.2")] {
        let settings = [("drop", drop)];
        let report = report(flows, &settings);
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        let table = report.to_table(View::Cost, Keep::Telling);
        let row = table.lines().find(|line| line.starts_with("| FCT mean - first profile's")).unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let mut base = Scenario::load("tail-loss").unwrap();
        base.flows = flows;
        let sweep = Sweep::parse(&[format!("drop={drop}")]).unwrap();
        let cell = sweep.scenarios(&base).unwrap().remove(0).0;
        let swept = SweepReport::of_pairs(&base, &sweep, &[(cell, report.clone())]).unwrap().to_table();
        let headline = headline(&report);
        for (place, result) in json["results"].as_array().unwrap().iter().enumerate().skip(1) {
            let verdict = result["fct_difference_ms"]["mean_verdict"].as_str().unwrap();
            let profile = result["profile"].as_str().unwrap();
            let mean = result["fct_ms"]["mean"].as_f64().unwrap();
            assert!(headline.contains(&format!("{profile} {mean:.0} ({verdict})")), "{headline}");
            assert!(cells[2 + place].contains(&format!("] {verdict}")), "{row}");
            let in_sweep = swept.lines().find(|line| line.contains(&format!("| {profile} "))).unwrap();
            assert!(in_sweep.contains(&format!("] {verdict}")), "{in_sweep}");
            match verdict {
                "undecided" => undecided += 1,
                _ => decided += 1,
            }
        }
        // No bare ratio beside a verdict.
        for text in [&table, &swept] {
            let ratios: Vec<&str> = text.split("| FCT mean / first profile's ").skip(1).collect();
            assert!(!ratios.is_empty() && ratios.iter().all(|rest| rest.starts_with("[95 % interval]")), "{text}");
        }
    }
    assert!(decided > 0 && undecided > 0, "{decided} {undecided}");
}

#[test]
fn without_a_completed_flow_there_is_no_sentence() {
    let line = headline(&report(1, &[("drop", "bernoulli:1")]));
    assert!(line.starts_with("tail-loss flows=1"), "{line}");
}
