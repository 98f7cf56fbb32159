use super::*;
use recoup_support::quantity::{parse_minimum, parse_multiple, parse_threshold};
use recoup_units::Segments;
use std::time::Duration;

#[test]
fn lists_have_each_value_once() {
    let list = |text| parse_list(text, parse_multiple);
    let factors = [2, 4].map(Factor::whole).to_vec();
    assert_eq!(list("2,4"), Ok(factors.clone()));
    assert_eq!(list(" 2, 4 ,2.0"), Ok(factors));
    assert_eq!(list("profile"), Ok(Vec::new()));
    for (text, part) in [
        ("", "expected a number from 0 to 1000"),
        ("2,", "expected a number from 0 to 1000"),
        ("2;4", "`2;4`"),
        ("-1", "or profile"),
        ("profil", "did you mean `profile`?"),
        ("2,profile", "`profile` stands alone"),
    ] {
        let error = list(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
    let thresholds = parse_list("1,3,6", parse_threshold);
    assert_eq!(thresholds, Ok([1, 3, 6].map(Segments).to_vec()));
    for text in ["0", "1001", "1.5", "three"] {
        assert!(parse_list(text, parse_threshold).is_err(), "{text}");
    }
    for text in ["61s", "200", "-1ms"] {
        assert!(parse_list(text, parse_minimum).is_err(), "{text}");
    }
}

#[test]
fn a_grid_is_neither_empty_nor_huge() {
    assert!(check_size(&Grid::study()).is_ok());
    let nothing = check_size(&Grid::default()).unwrap_err();
    assert!(nothing.contains("every parameter is profile"), "{nothing}");
    let many = Grid { dupthreshs: (1..=100).map(Segments).collect(), ..Grid::study() };
    let many = check_size(&many).unwrap_err();
    assert!(many.contains("72000 combinations"), "{many}");
}

#[test]
fn instances_are_written_as_the_study_writes_them() {
    let instance = Parameters {
        rttvar_factor: Some(Factor::whole(2)),
        min_rto: Some(Duration::from_millis(1000)),
        rttvar_weight: Some(Factor::one_over(32)),
        srtt_weight: Some(Factor::ONE),
        srtt_factor: Some(Factor(1_250_000)),
        dupthresh: Some(Segments(2)),
        ..Parameters::default()
    };
    assert_eq!(instance_text(&instance), "k = 2, minRTO = 1 s, a = 1/32, b = 1, m = 1.25, D = 2");
    let of_rttvar = Parameters {
        min_rto: Some(Duration::from_millis(200)),
        minimum_of: MinimumOf::Rttvar,
        ..Parameters::default()
    };
    assert_eq!(instance_text(&of_rttvar), "minRTO = 200 ms (of RTTVAR on Linux)");
}
