use super::*;

fn predicted(change_ms: f64, half: f64) -> Predicted {
    let interval = Some((change_ms - half, change_ms + half));
    Predicted { change_ms, paired_ms: interval, another_run_ms: interval, ..Predicted::default() }
}

#[test]
fn a_prediction_comes_true_only_where_the_measurement_excludes_no_change() {
    let of = |change, half| outcome(&predicted(change, 5.0), [300.0, 260.0], half);
    assert_eq!(of(-38.0, 20.0), Outcome::Agrees);
    assert_eq!(of(-38.0, 50.0), Outcome::Undecided);
    assert_eq!(of(-10.0, 20.0), Outcome::Disagrees);
    assert_eq!(of(40.0, 20.0), Outcome::Disagrees);
    // No change was predicted, and there is none.
    assert_eq!(outcome(&predicted(-1.0, 2.0), [300.0, 304.0], 10.0), Outcome::Agrees);
    assert_eq!(outcome(&predicted(-1.0, 2.0), [300.0, 304.0], 100.0), Outcome::Undecided);
}

#[test]
fn a_document_names_what_it_predicts() {
    let result = |name: &str, change: Value| {
        serde_json::json!({ "mechanism": name, "connections": 12, "mean_change_ms": change, "mean_change_ci95_ms": [-9.0, 1.0],
            "mean_paired_change_ci95_ms": null })
    };
    let document = |results: Vec<Value>| {
        let captures = serde_json::json!([{ "capture": "a.pcap", "results": results }]);
        serde_json::json!({ "schema": "recoup.whatif", "version": 1, "captures": captures }).to_string()
    };
    let two = document(vec![result("+tlp", (-4.0).into()), result("+slp", Value::Null)]);
    let found = Predicted::read(&two, "a.pcap", Some("+tlp")).unwrap();
    assert_eq!((found.mechanism.as_str(), found.change_ms, found.connections), ("+tlp", -4.0, 12));
    assert_eq!((found.another_run_ms, found.paired_ms), (Some((-9.0, 1.0)), None));
    for (text, name, error) in [
        (&*two, None, "it has predictions for +tlp, +slp: --try chooses one"),
        (&two, Some("+er"), "it has predictions for +tlp, +slp: --try chooses one"),
        (&two, Some("+slp"), "no connection completes under it: there is no mean_change_ms"),
        (&document(Vec::new()), None, "it predicts nothing: no connection was run again"),
        ("{}", None, "expected a document recoup.whatif of version 1: `recoup whatif BEFORE --format json`"),
    ] {
        assert_eq!(Predicted::read(text, "a.pcap", name).unwrap_err(), error);
    }
    assert!(Predicted::read("{", "a.pcap", None).unwrap_err().starts_with("no JSON document"));
}
