//! `recoup compare`.

use super::folder;
use recoup_testing::Folder;
use serde_json::Value;

/// Captures flows of a server with this profile into the folder `name`.
fn capture(dir: &Folder, name: &str, profile: &str, seed: &str) -> String {
    let flows = "run fetch --flows 250 --set rtt=60ms --set close=true --set drop=bernoulli:0.05 --profile";
    let args: Vec<&str> = flows.split_whitespace().chain([profile, "--seed", seed, "--pcap", name]).collect();
    dir.run(&args).printed();
    format!("{name}/{profile}-sender.pcap")
}

/// A folder with captures of a server twice with one loss recovery, and once with another.
fn captured() -> (Folder, [String; 3]) {
    let dir = folder();
    let captures = [("one", "rfc6675", "1"), ("two", "rfc6675", "2"), ("with", "linux-6", "3")]
        .map(|(name, profile, seed)| capture(&dir, name, profile, seed));
    (dir, captures)
}

fn compared(dir: &Folder, args: &[&str]) -> Value {
    let args = [&["compare", "--quiet"], args, &["--format", "json"]].concat();
    let document = dir.run(&args).json();
    assert_eq!(document["schema"], "recoup.compare");
    document
}

fn change<'a>(document: &'a Value, quantity: &str) -> &'a Value {
    let mut changes = document["changes"].as_array().expect("changes").iter();
    let found = changes.find(|change| change["quantity"] == quantity && change["cause"].is_null());
    found.unwrap_or_else(|| panic!("{quantity} in {document}"))
}

#[test]
fn a_change_is_found_and_its_prediction_comes_true() {
    let (dir, [one, two, with]) = captured();
    let same = compared(&dir, &[&one, &two]);
    let none = same["changes"].as_array().expect("changes").iter().filter(|change| change["verdict"] == "changed");
    assert_eq!(none.collect::<Vec<_>>(), Vec::<&Value>::new());
    assert_eq!(same["before"]["connection_count"], 250);
    assert_eq!(same["prediction"], Value::Null);

    let tried = dir.run(&["whatif", "--quiet", &one, "--try", "linux-6", "--format", "json", "-o", "whatif.json"]);
    assert_eq!(tried.status, Some(0), "{}", tried.stderr);
    let found = compared(&dir, &[&one, &with, "--prediction", "whatif.json"]);
    for quantity in ["connection_time", "lost_per_connection"] {
        let change = change(&found, quantity);
        assert_eq!(change["verdict"], "changed", "{change}");
        assert!(change["relative_change"].as_f64().expect("a share") < -0.1, "{change}");
    }
    let check = &found["prediction"];
    assert_eq!(check["outcome"], "agrees", "{check}");
    // The same prediction does not come true where nothing changed.
    let check = &compared(&dir, &[&one, &two, "--try", "linux-6"])["prediction"];
    assert_eq!(check["outcome"], "disagrees", "{check}");
}

#[test]
fn the_number_of_threads_changes_nothing_and_files_are_joined() {
    let (dir, [one, two, with]) = captured();
    let on = |threads| compared(&dir, &[&one, &two, "--threads", threads]);
    assert_eq!(on("1"), on("3"));
    let joined = compared(&dir, &["--before", &one, &two, "--after", &with]);
    assert_eq!(joined["after"]["connection_count"], 250);
    let text = dir.run(&["compare", "--quiet", &one, &with]).printed();
    for part in ["BEFORE  one/", "AFTER   with/", "Changed: more than chance", "Did not change: ", "like requests"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = dir.run(&["compare", "--quiet", &one, &with, "-o", "page.html"]);
    assert_eq!(page.status, Some(0), "{}", page.stderr);
}

#[test]
fn wrong_use_is_one_line() {
    let dir = folder();
    dir.write("none.pcap", "");
    dir.write("whatif.json", "{}");
    for (args, line) in [
        (&["none.pcap"][..], "2 values required"),
        (&["--before", "none.pcap"], "--after"),
        (&["-", "-"], "-: standard input can be read only once"),
        (&["none.pcap", "missing.pcap"], "missing.pcap"),
        (&["-", "none.pcap", "--try", "+tlp"], "--try: BEFORE is read once more"),
        (&["none.pcap", "none.pcap", "--try", "+tlpp"], "did you mean `tlpr`"),
        (&["none.pcap", "none.pcap", "--prediction", "whatif.json"], "--prediction whatif.json: expected a document"),
    ] {
        let outcome = dir.run(&[&["compare"], args].concat());
        assert_eq!(outcome.status, Some(2), "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(line), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}
