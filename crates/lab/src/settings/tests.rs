use super::*;

fn set(key: &str, text: &str) -> Result<String, String> {
    let mut settings = Settings::default();
    settings.set(key, text, Path::new(".")).map_err(|e| e.to_string())?;
    Ok(settings.get(key).unwrap())
}

#[test]
fn every_key_reads_what_it_writes() {
    for Setting { key, .. } in all() {
        let text = Settings::default().get(key).unwrap();
        assert_eq!(set(key, &text), Ok(text), "{key}");
    }
    assert_eq!(Settings::default().get("nonsense"), None);
}

#[test]
fn values_are_normalised() {
    for (key, text, printed) in [
        ("rtt", " 0.08s ", "80ms"),
        ("rate", "10Mbit", "10Mbit"),
        ("rate", "up:1Mbit,down:none", "up:1Mbit,down:none"),
        ("rate", "down:5Mbit", "up:none,down:5Mbit"),
        ("queue", "100", "100p"),
        ("queue", "up:none,down:64kB", "up:none,down:64kB"),
        ("queue", "65536B", "64KiB"),
        ("drop", "tail:3", "tail:3"),
        ("drop", "up:ack:2,bernoulli:0.01", "up:ack:2,bernoulli:0.01"),
        ("drop", "bernoulli:2%", "bernoulli:0.02"),
        ("drop", "gilbert-elliott:1%,20%,loss_bad=50%", "gilbert-elliott:0.01,0.2,loss_bad=0.5"),
        ("reorder", "0.01:20ms", "0.01:20ms"),
        ("reorder", "1%:20ms", "0.01:20ms"),
        ("corrupt", "0.3%", "0.003"),
        ("receive_buffer", "64KiB", "65536"),
        ("duplicate", "up:0.5", "up:0.5,down:0"),
        ("ack", "delayed", "delayed:200ms"),
        ("ack", "linux:8", "linux:8"),
        ("timers", "linux-wheel:250", "linux-wheel:250"),
        ("timers", "linux-jiffies:1000", "linux-jiffies:1000"),
        ("timers", "granularity:10ms", "granularity:10ms"),
        ("cc", "reno", "reno"),
        ("initial_window", "20", "20"),
        ("rto.k", "2.50", "2.5"),
        ("rto.m", "5/4", "1.25"),
        ("rto.a", "1/4", "0.25"),
        ("rto.b", "1/8", "0.125"),
        ("rto.b", "profile", "profile"),
        ("rto.min", "0.2s", "200ms"),
        ("rto.min", "0", "0ms"),
        ("tlp.srtt_factor", "3/2", "1.5"),
        ("tlp.ack_delay", "0.04s", "40ms"),
        ("tlp.ack_delay", "measured", "measured"),
        ("rto.min_of", "rttvar", "rttvar"),
        ("dupthresh", "1", "1"),
        ("writes", "20kB@0, 10000@0.5s", "20kB@0ms,10kB@500ms"),
        ("writes", "1MB@1s,1500B@1s", "1MB@1s,1500B@1s"),
        ("writes", "1TB@0,2GB@1s,2000MB@1s", "1TB@0ms,2GB@1s,2GB@1s"),
        ("exchanges", "300B>20kB, 1.2s, 300B>5kB", "300B>20kB,1200ms,300B>5kB"),
        ("user_timeout", "30s", "30s"),
        ("request", "300", "300B"),
        ("request", "0", "0"),
        ("psh", "burst", "burst"),
        ("slp.p", "2%", "0.02"),
        ("slp.p", "learned", "learned"),
        ("slp.q", "psh:10%,syn:1, syn_ack:1", "paper"),
        ("slp.q", "tail:0.5,other:1e-6", "tail:0.5,other:0.000001"),
        ("slp.q", "tail:0", "other:0"),
        ("slp.q", "tail:1,", "tail:1"),
        ("slp.bw", "1.5Mbit", "1500kbit"),
        ("slp.gap", "0.25", "0.25"),
    ] {
        assert_eq!(set(key, text), Ok(printed.into()), "{key}={text}");
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (key, text, part) in [
        ("rtts", "1ms", "unknown setting `rtts`, did you mean `rtt`?"),
        ("rtt", "-5ms", "rtt: `-5ms` is not a duration: expected a number with a unit, not negative"),
        (
            "rate",
            "0",
            "rate: `0` is not a rate: expected a number with a unit, such as 10Mbit or 64kbit, above zero and below 1000000Gbit, or none",
        ),
        ("segments", "0", "segments: `0`: expected a whole number from 1 to"),
        ("mss", "70000", "mss: `70000`: expected a whole number from 1 to 65463"),
        ("drop", "tial:1", "did you mean `tail`?"),
        ("drop", "trace:", "drop: `trace:`: expected the name of a file with recorded losses"),
        ("drop", "tace:a", "did you mean `trace`?"),
        ("drop", "trace:no/such/file", "drop: cannot read the loss trace ./no/such/file: "),
        ("ack", "quik", "did you mean `quick`?"),
        ("timers", "exact:1", "timers: `exact:1`: expected exact"),
        ("timers", "granularity:0ms", "above zero"),
        ("cc", "bbr", "cc: `bbr`: expected profile or cubic or reno"),
        ("initial_window", "0", "initial_window: `0`: expected a whole number from 1"),
        ("rto.k", "-1", "rto.k: `-1`: expected a number from 0 to 1000, such as 0.5 or 1/8, or profile"),
        ("rto.m", "1000.1", "expected a number from 0 to 1000,"),
        ("rto.a", "0", "rto.a: `0`: expected a number from 0.000001 to 1,"),
        ("rto.b", "1.1", "expected a number from 0.000001 to 1,"),
        ("rto.b", "1/3", "rto.b: `1/3` is not exact in millionths: expected a number such as 0.333333, or profile"),
        ("rto.k", "profil", "or profile, did you mean `profile`?"),
        ("rto.min", "200", "rto.min: `200` is not a duration"),
        ("tlp.ack_delay", "mesured", "did you mean `measured`?"),
        ("rto.min", "61s", "rto.min: `61s`: expected at most 60s, such as 200ms, or profile"),
        ("rto.min_of", "rtovar", "did you mean `rttvar`?"),
        ("rto.mni", "1s", "unknown setting `rto.mni`, did you mean `rto.min`?"),
        ("dupthresh", "0", "dupthresh: `0`: expected a whole number from 1 to"),
        ("dupthresh", "2.5", "dupthresh: `2.5`: expected a whole number"),
        ("writes", "20kB", "writes: `20kB`: expected SIZE@TIME, such as 20kB@500ms, or none"),
        ("writes", "20kb@0", "writes: `20kb`: expected bytes from 1 to 1 TB, such as 20kB"),
        ("writes", "0@0", "writes: `0`: expected bytes from 1"),
        ("writes", "1kB@soon", "writes: `soon` is not a duration"),
        ("writes", "1kB@2ms,1kB@1ms", "writes: `1kB@1ms`: expected the order of time"),
        ("close", "yes", "close: `yes`: expected false or true"),
        ("link", "no/such/file", "link: cannot read the link trace"),
        ("duplicate", "2", "not a probability"),
        ("request", "-1", "request: `-1`: expected bytes from 1 to 1 TB"),
        ("psh", "brst", "did you mean `burst`?"),
        ("slp.p", "1.1", "slp.p: `1.1`: expected a number from 0 to 1"),
        ("slp.p", "NaN", "slp.p: `NaN`: expected a number from 0 to 1"),
        ("slp.p", "lerned", "such as 0.02, or 0% to 100%, or learned"),
        ("slp.p", "learnt", "or learned, did you mean `learned`?"),
        ("slp.p", "LEARNED", "or learned, did you mean `learned`?"),
        ("slp.q", "tial:1", "did you mean `tail`?"),
        ("slp.q", "", "slp.q: ``: expected KIND:Q, as in tail:1"),
        ("slp.q", "tail", "slp.q: `tail`: expected KIND:Q, as in tail:1"),
        ("slp.q", "tail=1", "slp.q: `tail=1`: expected KIND:Q, as in tail:1"),
        ("slp.q", "papr", "did you mean `paper`?"),
        ("slp.q", "Paper", "did you mean `paper`?"),
        ("slp.q", "tial=1", "did you mean `tail`?"),
        ("slp.q", "tail:1;psh:0.1", "slp.q: `tail:1;psh:0.1`: expected KIND:Q,…, as in tail:1,psh:0.1"),
        ("slp.q", "paper,tail:1", "slp.q: `paper,tail:1`: expected KIND:Q,…, as in tail:1,psh:0.1"),
        ("slp.q", "tail:1,tail:1", "more than one q for tail"),
        ("slp.q", "tail:101%", "slp.q: `101%`: expected a number from 0 to 1"),
        ("slp.q", "no/such/file", "slp.q: cannot read the likelihoods"),
        ("slp.q", "first.csv", "slp.q: cannot read the likelihoods"),
        ("slp.bw", "0", "above zero and below 1000000Gbit"),
        ("slp.gap", "-1", "slp.gap: `-1`: expected a number from 0 to 1"),
        ("rate", "1Mbit,2Mbit", "rate: `1Mbit,2Mbit`: more than one value for up"),
        ("queue", "10,down:5", "queue: `10,down:5`: more than one value for down"),
    ] {
        let error = set(key, text).unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{key}={text}: {error}");
    }
}

#[test]
fn losses_must_fit_the_flow() {
    let mut settings = Settings::default();
    settings.set("drop", "tail:11", Path::new(".")).unwrap();
    let error = settings.path().unwrap_err().to_string();
    assert_eq!(error, "drop: `tail:11`: the flow has only 10 data segments from server to client");
    settings.set("segments", "11", Path::new(".")).unwrap();
    assert!(settings.path().is_ok());
}

#[test]
fn writes_decide_how_many_segments_there_are_to_lose() {
    let mut settings = Settings::default();
    let mut lost = |writes: &str, drop: &str| {
        for (key, value) in [("mss", "1000"), ("writes", writes), ("drop", drop)] {
            settings.set(key, value, Path::new(".")).unwrap();
        }
        let path = settings.path().map_err(|e| e.to_string())?;
        Ok::<_, String>(path.down[0].to_string())
    };
    for (writes, drop, hop) in [
        ("20kB@0,10kB@500ms", "tail:1", "loss data:30"),
        ("20kB@0,10001B@500ms", "tail:1", "loss data:31"),
        ("100B@5ms", "tail:1", "loss data:1"),
        ("1500B@0,2kB@5ms", "data:40", "loss data:40"),
    ] {
        assert_eq!(lost(writes, drop).as_deref(), Ok(hop), "{writes} {drop}");
    }
    // How the second write's bytes share segments with the first's is not known before.
    let error = lost("1500B@0,2kB@5ms", "tail:1").unwrap_err();
    assert!(error.starts_with("drop: `tail:1`: "), "{error}");
}

#[test]
fn exchanges_replace_request_segments_and_writes() {
    let mut settings = Settings::default();
    for (key, value) in [
        ("request", "5kB"),
        ("writes", "5kB@0"),
        ("exchanges", "300B>2896B,1s,300B>1449B"),
        ("close", "true"),
        ("drop", "tail:1"),
    ] {
        settings.set(key, value, Path::new(".")).unwrap();
    }
    let Workload { client, server } = settings.flow(&Profile::default()).workload;
    assert_eq!((client.total(), server.total()), (600, 4345));
    assert!(client.close.is_some() && server.close.is_some());
    assert_eq!(settings.path().unwrap().down[0].to_string(), "loss data:4");
    // How the requests share segments depends on the window.
    settings.set("drop", "up:tail:1", Path::new(".")).unwrap();
    assert!(settings.path().is_err());
}

#[test]
fn writes_are_the_workload() {
    let mut settings = Settings::default();
    let mut workload = |writes: &str| {
        settings.set("writes", writes, Path::new(".")).unwrap();
        let workload = settings.flow(&Profile::default()).workload;
        let writes = &workload.server.writes;
        (writes[0].bytes, writes.len() - 1)
    };
    for (writes, response, later) in [
        ("none", 10 * 1448, 0),
        ("20kB@0,10kB@500ms", 20_000, 1),
        ("20kB@1ms,10kB@500ms", 0, 2),
        ("1kB@0,1kB@0", 1000, 1),
    ] {
        assert_eq!(workload(writes), (response, later), "{writes}");
    }
}

#[test]
fn likelihoods_are_read_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    // (the file, what it says or what is wrong with it)
    for (text, found) in [
        ("kind,q\ntail,1\nfirst, 0.5\n", Ok("tail:1,first:0.5")),
        ("# no header\nfin,2%\r\n", Ok("fin:0.02")),
        ("other,0", Ok("other:0")),
        ("", Err("q.csv:1: expected a line kind,q, such as tail,0.5")),
        ("kind,q\n", Err("q.csv:1: expected a line kind,q, such as tail,0.5")),
        ("kind,q\ntail,2\n", Err("q.csv:2: `2`: expected a number from 0 to 1")),
        ("tail,1\n\nhead,1\n", Err("q.csv:3: `head`: expected syn or")),
        ("tail,1\ntail,1\n", Err("q.csv:2: more than one q for tail")),
        ("tail;1\n", Err("q.csv:1: `tail;1`: expected a line kind,q")),
    ] {
        std::fs::write(dir.path().join("q.csv"), text).unwrap();
        let mut settings = Settings::default();
        let set = settings.set("slp.q", "q.csv", dir.path());
        assert_eq!(settings.get("slp.q").unwrap() == "q.csv", found.is_ok(), "{text}");
        match found {
            Ok(found) => assert_eq!(slp::format_likelihoods(&settings.slp.likelihoods), found),
            Err(part) => {
                let error = set.unwrap_err().to_string();
                assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
            }
        }
    }
}

#[test]
fn a_request_is_data_of_its_own() {
    let set = |drop: &str| {
        let mut settings = Settings::default();
        for (key, value) in [("request", "3000B"), ("drop", drop)] {
            settings.set(key, value, Path::new(".")).unwrap();
        }
        settings
    };
    assert!(set("up:tail:3").path().is_ok(), "three segments of 1,448 bytes at most");
    assert!(set("up:tail:4").path().is_err());
    let flow = set("none").flow(&Profile::default());
    assert_eq!((flow.workload.client.total(), flow.workload.server.total()), (3000, 14_480));
}

#[test]
fn parameters_replace_those_of_every_profile() {
    let mut settings = Settings::default();
    for (key, value) in
        [("rto.k", "2"), ("rto.m", "1.5"), ("rto.a", "1/2"), ("rto.b", "1"), ("rto.min", "300ms"), ("dupthresh", "5")]
    {
        settings.set(key, value, Path::new(".")).unwrap();
    }
    for (name, ..) in recoup_recovery::profile::BASES {
        let profile: Profile = name.parse().unwrap();
        let spec = settings.flow(&profile);
        for host in [spec.client, spec.server] {
            let rto = host.mechanisms.rto;
            let factors = [rto.rttvar_factor, rto.srtt_factor, rto.rttvar_weight, rto.srtt_weight];
            let expected = [2_000_000, 1_500_000, 500_000, 1_000_000];
            assert_eq!(factors.map(|factor| factor.0), expected, "{name}");
            assert_eq!(rto.min, Duration::from_millis(300), "{name}");
            assert_eq!(host.mechanisms.detection.dupthresh, Segments(5), "{name}");
        }
    }
}

#[test]
fn recorded_losses_stand_beside_rules() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "0001\n").unwrap();
    std::fs::write(folder.path().join("b.txt"), "1110\n").unwrap();
    std::fs::write(folder.path().join("bad.txt"), "01\n0x\n").unwrap();
    let set = |text: &str| {
        let mut settings = Settings::default();
        settings.set("drop", text, folder.path()).map(|()| settings).map_err(|e| e.to_string())
    };
    for (text, printed, up, down) in [
        ("trace:a.txt", "trace:a.txt", &[][..], &["1 of 4"][..]),
        ("up:arrivals:b.txt, down:trace:a.txt", "up:arrivals:b.txt,trace:a.txt", &["1 of 4"], &["1 of 4"]),
        (
            "gilbert-elliott:0.1,0.3,trace:a.txt,up:ack:2",
            "gilbert-elliott:0.1,0.3,up:ack:2,trace:a.txt",
            &["ack:2"],
            &["gilbert-elliott:0.1,0.3", "1 of 4"],
        ),
    ] {
        let settings = set(text).unwrap();
        assert_eq!(settings.get("drop").unwrap(), printed);
        assert_eq!(set(printed).unwrap(), settings);
        let path = settings.path().unwrap();
        for (hops, losses) in [(&path.up, up), (&path.down, down)] {
            let found: Vec<String> =
                hops.iter().map(ToString::to_string).filter(|hop| hop.starts_with("loss ")).collect();
            assert_eq!(found.len(), losses.len(), "{found:?}");
            assert!(found.iter().zip(losses).all(|(hop, part)| hop.contains(part)), "{found:?}");
        }
        let traces = settings.files().count();
        assert_eq!(traces, text.matches(".txt").count(), "{text}");
    }
    let wrong = set("trace:bad.txt").unwrap_err();
    assert!(wrong.ends_with("bad.txt: line 2, column 2 of the loss trace: expected 0 or 1 for each packet, or # before a remark, found `x`"), "{wrong}");
    let twice = set("trace:a.txt,arrivals:b.txt").unwrap_err();
    assert_eq!(twice, "drop: `trace:a.txt,arrivals:b.txt`: more than one loss trace for down");
}
