use super::*;

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\">\n\
    <rect x=\"0\" y=\"0\" width=\"9\" height=\"9\" fill=\"#FFFFFF\"/>\n\
    <path d=\"M0 0H9\" fill=\"none\" stroke=\"#440154\"/>\n</svg>\n";

fn a_claim(id: &str, verdict: Verdict) -> Claim {
    Claim {
        id: id.into(),
        section: "3.1".into(),
        statement: format!("{id} & so on"),
        ours: "3 < 4".into(),
        command: "recoup paper p fig1 --seed 1".into(),
        verdict,
        ..Claim::default()
    }
}

fn a_report(claims: Vec<Claim>) -> Report {
    Report {
        title: "What holds".into(),
        papers: vec![Paper {
            id: "p".into(),
            name: "A paper".into(),
            experiments: vec![Experiment {
                name: "fig1".into(),
                section: "3".into(),
                budget: Some(30.0),
                figures: vec![Figure { name: "fig1".into(), about: "A <line>".into(), svg: SVG.into() }],
                claims,
                ..Experiment::default()
            }],
            ..Paper::default()
        }],
        ..Report::default()
    }
}

#[test]
fn the_headline_counts_what_holds_and_what_does_not() {
    use Verdict::{ByConstruction, Fails, Holds, Undecided};
    for (verdicts, headline) in [
        (vec![], "0 of 0 claims hold, 0 fail, 0 are undecided"),
        (vec![Holds, ByConstruction, Fails, Undecided], "2 of 4 claims hold, 1 fails, 1 is undecided"),
        (vec![Fails, Fails, Undecided, Undecided, Holds], "1 of 5 claims holds, 2 fail, 2 are undecided"),
    ] {
        let claims = verdicts.into_iter().enumerate();
        let claims = claims.map(|(i, verdict)| a_claim(&format!("c{i}"), verdict));
        let html = a_report(claims.collect()).to_html();
        assert!(html.contains(&format!(">{headline}</h2>")), "{headline}");
    }
}

#[test]
fn each_claim_has_a_row_with_an_address_and_its_command() {
    let html = a_report(vec![a_claim("first", Verdict::Fails)]).to_html();
    assert_eq!(html.matches("<tr id=\"p/fig1/first\"").count(), 1);
    assert!(html.contains("href=\"#p/fig1/first\""));
    assert!(html.contains("<code>recoup paper p fig1 --seed 1</code>"));
    assert!(html.contains("first &amp; so on") && html.contains("3 &lt; 4"));
}

#[test]
fn a_verdict_that_differs_from_the_ledger_is_shown() {
    for (ledger, shown) in [
        (Ledger::NotCompared, None),
        (Ledger::Same, None),
        (Ledger::New, Some("not in the ledger")),
        (Ledger::Differs(Verdict::Fails), Some("ledger: fails")),
    ] {
        let claim = Claim { ledger, ..a_claim("first", Verdict::Holds) };
        let html = a_report(vec![claim]).to_html();
        // In the summary, beside the figure and in the ledger.
        let expected = shown.map_or(0, |_| 3);
        let marks = html.matches("<span class=\"was\">").count();
        assert_eq!(marks, expected, "{ledger:?}");
        assert!(shown.is_none_or(|words| html.contains(words)), "{ledger:?}");
        let same = html.contains("All verdicts are those of the committed ledger.");
        assert_eq!(same, ledger == Ledger::Same);
    }
}

#[test]
fn an_experiment_without_a_result_is_named() {
    let mut report = a_report(vec![]);
    let experiment = &mut report.papers[0].experiments[0];
    experiment.outcome = Outcome::Missing("interrupted after 3 s".into());
    let html = report.to_html();
    assert!(html.contains("Missing experiments"));
    assert_eq!(html.matches("interrupted after 3 s").count(), 2);
}

#[test]
fn sentences_lead_to_their_claims_or_say_why_there_is_none() {
    let mut report = a_report(vec![a_claim("first", Verdict::Holds)]);
    report.papers[0].sentences = vec![
        Sentence {
            section: "3.1".into(),
            says: "It is faster.".into(),
            claims: vec!["fig1/first".into(), "fig2/other".into()],
            untested: None,
        },
        Sentence {
            says: "It is popular.".into(),
            untested: Some(Untested { kind: "population".into(), because: "an input".into() }),
            ..Sentence::default()
        },
    ];
    let html = report.to_html();
    assert!(html.contains("1 of 2 sentences decided, 1 not (1 population)"));
    assert!(html.contains("fig2/other (not in this run)"));
    let coverage = html.split("id=\"coverage\"").nth(1).unwrap();
    assert!(coverage.contains("href=\"#p/fig1/first\""));
    assert!(coverage.contains("not decided: population</span> an input"));
}

#[test]
fn colours_of_pictures_have_a_dark_counterpart() {
    let html = a_report(vec![]).to_html();
    // The ground, by name, and the darkest colour of viridis, by its place on the scale.
    assert!(html.contains(".picture [fill=\"#FFFFFF\"] { fill: light-dark(#FFFFFF, #15181C); }"));
    assert!(html.contains(".picture [stroke=\"#440154\"] { stroke: light-dark(#440154, "));
    assert!(!html.contains("light-dark(#440154, #440154)"));
    // The picture itself stays as it is.
    assert!(html.contains("<path d=\"M0 0H9\" fill=\"none\" stroke=\"#440154\"/>"));
}

#[test]
fn numbers_in_tables_have_six_digits_at_most() {
    let mut report = a_report(vec![]);
    let cells = ["201.4141437194233", "12000", "1234567890", "0.00012345678", "linux-3.17"];
    report.papers[0].experiments[0].data =
        Data::Rows { headings: cells.map(String::from).to_vec(), rows: vec![cells.map(String::from).to_vec()] };
    let html = report.to_html();
    for (shown, class) in [
        ("201.414", " class=\"number\""),
        ("12000", " class=\"number\""),
        ("1234567890", " class=\"number\""),
        ("0.000123457", " class=\"number\""),
        ("linux-3.17", ""),
    ] {
        assert!(html.contains(&format!("<td{class}>{shown}</td>")), "{shown}");
    }
}

#[test]
fn long_tables_say_how_many_rows_they_lack() {
    let mut report = a_report(vec![]);
    report.papers[0].experiments[0].data =
        Data::Rows { headings: vec!["n".into()], rows: (0..MAX_ROWS + 1500).map(|i| vec![i.to_string()]).collect() };
    let html = report.to_html();
    assert_eq!(html.matches("<td class=\"number\">").count(), MAX_ROWS);
    assert!(html.contains("1,500 more rows are left out."));
}
