use super::*;
use recoup_tcp::AckPolicy;
use std::time::Duration;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse("x", "x.toml", text, Path::new(".")).map_err(|e| e.to_string())
}

#[test]
fn built_in_scenarios_load_and_their_settings_fit_together() {
    for (name, _) in BUILT_IN {
        let found = Experiment::load(name).unwrap();
        assert!(!found.about().is_empty());
        match found {
            Experiment::Pair(scenario) => {
                assert_eq!(scenario.name, name);
                scenario.settings.path().unwrap();
            }
            Experiment::World(world) => assert_eq!(world.name, name),
        }
    }
}

#[test]
fn tail_loss_is_set_where_probes_help() {
    let scenario = Scenario::load("tail-loss").unwrap();
    let names: Vec<_> = scenario.profiles.iter().map(Profile::name).collect();
    assert_eq!(names, ["linux-3.17", "linux-6", "linux-6+tlpr"]);
    let defaults = Settings {
        drop: "tail:1".parse().unwrap(),
        ack: AckPolicy::Delayed(Duration::from_millis(200)),
        ..Settings::default()
    };
    assert_eq!(scenario.settings, defaults);
}

#[test]
fn errors_name_the_line() {
    for (text, error) in [
        ("", "x.toml:1: the scenario is empty: expected profiles"),
        ("# nothing\n", "x.toml:1: the scenario is empty"),
        ("flows = 0", "x.toml:1: expected a whole number from 1"),
        (
            "\n\nflow = 1",
            "x.toml:3: unknown key `flow`: expected one of about, profiles, flows, seed, settings, did you mean `flows`?",
        ),
        ("profiles = \"linux-3.17\"", "x.toml:1: profiles: expected a list"),
        (
            "profiles = [\n\"linux-3.17\",\n\"linux-3.17+tpl\"]",
            "x.toml:3: unknown mechanism 'tpl', did you mean `tlp`?",
        ),
        ("seed = 1\n[settings]\nrtt = \"80\"", "x.toml:3: rtt: `80` is not a duration"),
        ("[settings]\nsegment = 3", "x.toml:2: unknown setting `segment`, did you mean `segments`?"),
        ("[settings]\nrtt = [1]", "x.toml:2: expected text or a number, found array"),
        ("seed = ", "x.toml:1: "),
        ("seed = 1\nseed = 2", "x.toml:2: "),
    ] {
        let found = parse(text).unwrap_err();
        assert!(found.starts_with(error) && !found.contains('\n'), "{text}\n{found}");
    }
}

#[test]
fn dotted_settings_may_be_written_as_toml_has_them() {
    for text in [
        "slp.p = 0.03\nslp.q = \"tail:1\"",
        "\"slp.p\" = \"3%\"\n\"slp.q\" = \"tail:1\"",
        "[settings.slp]\np = 0.03\nq = \"tail:1\"",
    ] {
        let settings = parse(&format!("[settings]\n{text}")).unwrap().settings;
        assert_eq!(settings.get("slp.p").unwrap(), "0.03");
        assert_eq!(settings.get("slp.q").unwrap(), "tail:1");
    }
    let error = parse("[settings]\nslp.r = 1").unwrap_err();
    assert!(error.starts_with("x.toml:2: unknown setting `slp.r`"), "{error}");
}

#[test]
fn a_setting_that_does_not_fit_the_others_is_named_with_its_line() {
    let text = "[settings]\nsegments = 3\ndrop = \"tail:4\"";
    let mut scenario = parse(text).unwrap();
    let error = "drop: `tail:4`: the flow has only 3 data segments from server to client";
    assert_eq!(scenario.check(), Err(format!("x.toml:3: {error}")));
    scenario.set("drop", "tail:4").unwrap();
    assert_eq!(scenario.check(), Err(error.into()));
    scenario.set("segments", "4").unwrap();
    assert_eq!(scenario.check(), Ok(()));
}

#[test]
fn a_scenario_file_that_is_too_long_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.toml");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(LONGEST_SCENARIO + 1).unwrap();
    let name = path.display().to_string();
    let error = Scenario::load(&name).unwrap_err().to_string();
    let why = "longer than 1 MiB, the most that is read";
    assert_eq!(error, format!("cannot read the scenario {name}: {why}"));
}

#[test]
fn unknown_names_are_refused() {
    let error = |name: &str| Scenario::load(name).unwrap_err().to_string();
    assert!(error("tail-los").ends_with("did you mean `tail-loss`?"));
    assert!(error("no/such.toml").starts_with("cannot read the scenario no/such.toml"));
}

#[test]
fn what_would_take_all_memory_is_refused() {
    let many = |text: &str| format!("profiles = [{}]\n", vec![text; 101].join(","));
    for (text, error) in [
        ("flows = 1000000000000000000\n", "flows: expected at most 1000000000, found 1000000000000000000"),
        (&many("\"reno\""), "profiles: expected at most 100, found 101"),
        (
            "[settings]\nmss = 1\nsegments = 1000000000\n",
            "receive_buffer: 67108864 segments of 1 bytes may be in flight at once: expected at most 2000000",
        ),
        (
            "[settings]\nmss = 10\nrequest = \"1TB\"\nreceive_buffer = \"1GiB\"\n",
            "a.toml:4: receive_buffer: 107374183 segments of 10 bytes may be in flight at once: expected at most 2000000",
        ),
        ("[settings]\nmss = 1\nsegments = 2000000\n", ""),
        ("[settings]\nsegments = 1000000000\nreceive_buffer = \"1GiB\"\n", ""),
    ] {
        let scenario = Scenario::parse("a", "a.toml", text, Path::new(".")).unwrap();
        assert_eq!(scenario.check().err().unwrap_or_default(), error, "{text}");
    }
    let rules = |count| vec!["data:1"; count].join(",");
    let set = |text: &str| Settings::default().set("drop", text, Path::new("."));
    assert!(set(&rules(1000)).is_ok());
    let error = set(&rules(1001)).unwrap_err().to_string();
    assert_eq!(error, "drop: expected at most 1000 loss rules, found 1001");
}
