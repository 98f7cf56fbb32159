use super::*;
use crate::report::View;
use crate::scenario::{Experiment, Scenario, ScenarioText};
use recoup_sim::{NoObserver, Observer, Packet, Point};
use recoup_table::Keep;
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant};
use std::collections::BTreeMap;

const TWO: &str = r#"
about = "two kinds of flows on two links"
profiles = ["linux-3.17", "linux-6"]
seed = 7
duration = "5s"

[links.access]
between = ["servers", "middle"]
delay = "5ms"

[links.bottleneck]
between = ["middle", "clients"]
rate = "10Mbit"
delay = "10ms"
queue = "20"

[workloads.short]
client = "clients"
server = "servers"
pairs = 4
think = "50ms"
segments = 10
close = true

[workloads.long]
client = "clients"
server = "servers"
profile = "linux-6"
pairs = 2
segments = 1000000
"#;

fn read(text: &str) -> Result<WorldScenario, String> {
    let source = ScenarioText::new("two", "two.toml", text, Path::new("."));
    let table = source.table().map_err(|e| e.to_string())?;
    assert!(is_world(table.get_ref()));
    WorldScenario::read(&source, table.get_ref()).map_err(|e| e.to_string())
}

fn run(world: &WorldScenario, threads: usize) -> Vec<WorldResult> {
    world.run(threads, |_| (), || false).unwrap()
}

#[test]
fn values_read_back_as_the_same_world() {
    let world = read(TWO).unwrap();
    let mut other = read(TWO).unwrap();
    for (key, value) in world.values() {
        other.set(&key, &value).unwrap();
    }
    assert_eq!(world.values(), other.values());
    assert_eq!(world.links, other.links);
    assert_eq!(world.workloads, other.workloads);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut world = read(TWO).unwrap();
    world.set("runs", "3").unwrap();
    world.set("duration", "2s").unwrap();
    let report = |threads| WorldReport::new(&world, &run(&world, threads)).to_json();
    assert_eq!(report(1), report(4));
}

#[test]
fn workloads_share_the_link_and_open_flows_count() {
    let world = read(TWO).unwrap();
    for result in run(&world, 2) {
        let [short, long] = &result.workloads[..] else { panic!("{result:?}") };
        assert!(short.cost.completed > 20, "{}", short.cost.completed);
        assert_eq!((long.cost.flows, long.cost.completed), (2, 0));
        // All data that arrived passed the bottleneck, with headers of 3.5 % and retransmissions beside it.
        let bottleneck = &result.links[2];
        let name_and_way = (bottleneck.name.as_str(), bottleneck.direction);
        assert_eq!(name_and_way, ("bottleneck", Direction::Up));
        let delivered = (short.delivered + long.delivered) as f64;
        let passed = bottleneck.record.bytes_delivered as f64;
        assert!(delivered < passed && delivered > 0.9 * passed, "{result:?}");
        assert!(bottleneck.utilisation(result.simulated).unwrap() > 0.95);
        assert!(bottleneck.record.dropped_by_queue > 0);
        assert!(bottleneck.flows_with_drops >= 2, "{result:?}");
        assert!(bottleneck.most_drops_of_a_flow > 1);
        let waited = &bottleneck.record.queueing;
        assert!(waited.quantile(0.99) > waited.quantile(0.5));
        assert!(waited.longest() > Duration::ZERO);
        assert!(long.fairness.unwrap() > 0.7, "{:?}", long.fairness);
        assert_eq!(result.simulated, Duration::from_secs(5));
    }
}

/// A profile of a workload's own stays the same in all worlds.
#[test]
fn the_profile_is_that_of_the_world_unless_the_workload_has_one() {
    let mut world = read(TWO).unwrap();
    world.set("workloads.short.profile", "linux-6").unwrap();
    let [first, second] = &run(&world, 2)[..] else { panic!("two profiles") };
    for (one, other) in first.workloads.iter().zip(&second.workloads) {
        assert_eq!(one.delivered, other.delivered);
    }
}

#[test]
fn a_stopped_world_has_the_results_so_far() {
    let world = read(TWO).unwrap();
    let simulated = std::cell::Cell::new(Duration::ZERO);
    let result = world.run_observed(
        &world.profiles[0],
        None,
        &mut NoObserver,
        |time| simulated.set(simulated.get() + time),
        || simulated.get() >= Duration::from_secs(2),
    );
    let result = result.unwrap();
    assert_eq!(result.simulated, Duration::from_secs(2));
    assert_eq!(result.workloads[1].cost.flows, 2);
}

#[test]
fn packets_take_the_fewest_links() {
    let detour = TWO.to_string()
        + "[links.detour]\nbetween = [\"servers\", \"far\"]\n[links.back]\nbetween = [\"far\", \"middle\"]\n";
    let results = run(&read(&detour).unwrap(), 2);
    let of_detour = results[0].links.iter().filter(|link| link.name == "detour");
    assert!(of_detour.map(|link| link.record.packets).all(|packets| packets == 0));
    assert!(results[0].links[0].record.packets > 0);
}

/// Counts the packets of each flow.
#[derive(Default)]
struct Seen(BTreeMap<u64, u64>);

impl Observer for Seen {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, _: Point, _: Direction, packet: &Packet) {
        *self.0.entry(packet.flow.0).or_default() += 1;
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &recoup_recovery::Event) {}
}

#[test]
fn only_the_chosen_flows_are_watched() {
    let world = read(TWO).unwrap();
    let second = 1 << 48;
    for (chosen, expected) in [
        (&["short:1"][..], &[1][..]),
        (&["short:0-2"], &[0, 1, 2]),
        (&["short:3", "long:1"], &[3, second + 1]),
        (&["long"], &[second, second + 1]),
    ] {
        let chosen: Vec<Chosen> = chosen.iter().map(|text| world.choose(text).unwrap()).collect();
        let mut watch = Watch::new(Seen::default(), &chosen);
        let profile = &world.profiles[0];
        world.run_observed(profile, None, &mut watch, |_| (), || false).unwrap();
        let seen: Vec<u64> = watch.into_observer().0.into_keys().collect();
        assert_eq!(seen, expected);
    }
    for (wrong, error) in [
        ("shrot", "no workload `shrot`, did you mean `short`?"),
        ("short:x", "`x`: expected a flow's number, or two such as 0-9"),
        ("short:1-", "`1-`: expected a flow's number"),
    ] {
        let found = world.choose(wrong).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    let valid = |from: &str, to: &str| {
        assert!(TWO.contains(from), "{from}");
        TWO.replacen(from, to, 1)
    };
    for (text, error) in [
        (valid("queue = \"20\"", "queue = \"x\""), "two.toml:15: links.bottleneck.queue: "),
        (
            valid("queue =", "quue ="),
            "two.toml:15: links.bottleneck.quue: unknown key `quue` of a link, did you mean `queue`?",
        ),
        (
            valid("delay = \"5ms\"", "rtt = \"5ms\""),
            "two.toml:9: links.access.rtt: a link has `delay`, one way, in place of `rtt`",
        ),
        (valid("pairs = 4", "pairs = 0"), "two.toml:20: workloads.short.pairs: `0`: expected a whole number from 1"),
        (
            valid("pairs = 4", "rate = \"1Mbit\""),
            "two.toml:20: workloads.short.rate: `rate` is a key of links, not of workloads",
        ),
        (
            valid("pairs = 4", "every = \"0s\""),
            "two.toml:20: workloads.short.every: `0s`: expected an interval above 0",
        ),
        (
            valid("pairs = 4", "pairs = 4\nevery = \"1s\""),
            "two.toml:21: workloads.short: expected `pairs` or `every`, found both",
        ),
        (
            valid("client = \"clients\"", "client = \"client\""),
            "two.toml:18: workloads.short.client: no link leads to a node `client`, did you mean `clients`?",
        ),
        (
            valid("client = \"clients\"", "client = \"servers\""),
            "two.toml:19: workloads.short.server: client and server stand at the same node",
        ),
        (
            valid("between = [\"middle\", \"clients\"]", "between = [\"clients\"]"),
            "two.toml:12: links.bottleneck.between: `clients`: expected two nodes",
        ),
        (
            valid("between = [\"middle\", \"clients\"]", "between = [\"other\", \"clients\"]"),
            "two.toml:18: workloads.short: no links lead from `clients` to `servers`",
        ),
        (
            valid("between = [\"middle\", \"clients\"]", ""),
            "two.toml:13: links.bottleneck: expected `between`, the two nodes it connects",
        ),
        (valid("duration = \"5s\"", "duration = \"0s\""), "two.toml:5: `0s`: expected a duration up to 30 days"),
        (valid("duration = \"5s\"", "durtion = \"5s\""), "two.toml:5: unknown key `durtion`: expected one of "),
        (valid("profile = \"linux-6\"", "profile = \"linux-66\""), "two.toml:28: workloads.long.profile: "),
        (valid("[links.access]", "[links]"), "two.toml:8: links.between: `links`: expected [links.NAME]"),
        (valid("seed = 7", "seed = []"), "two.toml:4: seed: expected text or a number, found a list"),
        (
            valid("pairs = 4", "tmix = \"synth\"\npairs = 4"),
            "two.toml:20: workloads.short: expected `pairs`, `every` or `tmix`, found several",
        ),
        (valid("pairs = 4", "scale = 0.5"), "two.toml:20: workloads.short: `scale` is for `tmix` alone"),
        (
            valid("pairs = 4", "tmix = \"synth:fast\""),
            "two.toml:20: workloads.short.tmix: `synth:fast`: expected synth:10, ",
        ),
        (
            valid("duration = \"5s\"", "duration = \"1000s\"")
                .replace("pairs = 4", "tmix = \"synth:100000\"")
                .replace("think = \"50ms\"", ""),
            "two.toml:20: workloads.short: expected at most 1,000,000 connections of synth",
        ),
        (
            valid("pairs = 4", "tmix = \"absent.cvec\""),
            "two.toml:20: workloads.short.tmix: cannot read the connection vectors ./absent.cvec: ",
        ),
        (
            "[links.a]\nbetween = [\"a\", \"b\"]".into(),
            "two.toml:1: the world has no workloads: expected [workloads.NAME]",
        ),
        ("[workloads.a]\nclient = \"a\"".into(), "two.toml:1: the world has no links: expected [links.NAME]"),
        (valid("queue = \"20\"", "drop = \"tail:1\""), "two.toml:15: links.bottleneck.drop: "),
        (
            valid("pairs = 4", "pairs = 1000000"),
            "two.toml:20: workloads.short.pairs: `1000000`: expected a whole number from 1 to 100000",
        ),
        (
            valid("pairs = 4", "pairs = 99999"),
            "two.toml:18: workloads: expected at most 100000 pairs in all, found 100001",
        ),
        (
            (0..300).fold(TWO.to_string(), |text, i| format!("{text}[links.x{i}]\ndelay = \"1ms\"\n")),
            "two.toml:540: links.x254.delay: expected at most 256 links",
        ),
        (
            valid("\"linux-6\"]", &format!("\"linux-6\"{}]", ", \"reno\"".repeat(99))),
            "two.toml:1: profiles: expected at most 100, found 101",
        ),
    ] {
        let found = read(&text).unwrap_err();
        assert!(found.starts_with(error) && !found.contains('\n'), "expected {error}\nfound    {found}");
    }
}

/// A connection in both ways of writing it: the request waits for nothing, the response for the request.
const VECTORS: &str = "\
    S 0 1 1 1\nr 80000\nI 0 0 300\nA 0 100000 20000\nI 0 0 0\n\
    S 2000000 1 1 2\nr 80000\nI 0 0 300\nA 0 100000 20000\nI 0 0 0\n";

#[test]
fn connection_vectors_are_read_from_a_file_beside_the_world_or_synthesized() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.cvec");
    std::fs::write(&file, VECTORS).unwrap();
    let text = |tmix: &str| {
        let text = TWO.replace("pairs = 4", &format!("tmix = {tmix:?}\nscale = 0.5"));
        let text = text.replace("think = \"50ms\"\nsegments = 10\nclose = true", "");
        text.split("[workloads.long]").next().unwrap().to_string()
    };
    let read = |text: &str| {
        let source = ScenarioText::new("two", "two.toml", text, folder.path());
        let table = source.table().unwrap();
        WorldScenario::read(&source, table.get_ref()).map_err(|e| e.to_string())
    };
    let world = read(&text("two.cvec")).unwrap();
    assert_eq!(world.files().collect::<Vec<_>>(), [&*file]);
    let result = &run(&world, 1)[0].workloads[0];
    assert_eq!((result.cost.flows, result.cost.completed), (2, 2));
    assert_eq!(result.delivered, 2 * 20_300);
    // The times of the file are halved, so that the second begins within 1.5 s.
    let mut short = world;
    short.set("duration", "1500ms").unwrap();
    assert_eq!(run(&short, 1)[0].workloads[0].cost.flows, 2);

    let synthetic = read(&text("synth:40")).unwrap();
    let flows = run(&synthetic, 1)[0].workloads[0].cost.flows;
    // 5 s at 40 connections a second, whose times are halved: 400, with a standard deviation of 20.
    assert!((300..500).contains(&flows), "{flows}");

    std::fs::write(&file, VECTORS.replace("A 0", "B 0")).unwrap();
    let error = read(&text("two.cvec")).unwrap_err();
    let expected = format!("two.toml:20: workloads.short.tmix: {}:4: ", file.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_key_that_does_not_fit_leaves_the_world_as_it_was() {
    let mut world = read(TWO).unwrap();
    let before = world.clone();
    for (key, value, error) in [
        ("links.bottlneck.rate", "1Mbit", "links.bottlneck.rate: no link `bottlneck`, did you mean `bottleneck`?"),
        ("links.bottleneck.rate", "fast", "links.bottleneck.rate: "),
        ("workloads.short.client", "servers", "workloads.short.server: client and server"),
        ("rate", "1Mbit", "rate: unknown key `rate`: expected one of"),
    ] {
        let found = world.set(key, value).unwrap_err();
        assert!(found.starts_with(error), "{found}");
        assert_eq!(world, before);
    }
}

#[test]
fn commands_for_one_pair_of_hosts_say_so() {
    let error = Scenario::load("dumbbell").unwrap_err().to_string();
    assert!(error.starts_with("scenario `dumbbell`: expected one pair of hosts"), "{error}");
    assert!(matches!(Experiment::load("dumbbell"), Ok(Experiment::World(_))));
}

#[test]
fn reports_have_every_workload_and_link() {
    let mut world = read(TWO).unwrap();
    world.set("duration", "1s").unwrap();
    let report = WorldReport::new(&world, &run(&world, 2));
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    let first = &json["results"][0];
    assert_eq!(first["simulated_ms"], 1000.0);
    assert_eq!(first["workloads"][1]["workload"], "long");
    assert!(first["workloads"][1]["goodput_mbps"].as_f64().unwrap() > 1.0);
    assert_eq!(first["links"][3]["direction"], "down");
    // The workload `short` has one response per flow. Flows that were open when the time was over have no latency.
    let short = &first["workloads"][0];
    let (written, all) = (&short["responses"]["written"], &short["responses"]["all"]);
    assert!(all["count"].as_u64().unwrap() > 0, "{all}");
    assert!(all["count"].as_u64() <= written.as_u64(), "{all}");
    assert!(written.as_u64() <= short["flows"].as_u64(), "{short}");
    assert!(all["latency_ms"]["p5"].as_f64() <= all["latency_ms"]["p99"].as_f64());
    assert_eq!(json["settings"]["links.bottleneck.queue"], "20p");
    assert_eq!(report.to_csv().lines().count(), 1 + 2 * 2);
    let table = report.to_table(View::Cost, Keep::Telling);
    for part in [
        "links.bottleneck between=middle,clients delay=10ms rate=10Mbit queue=20p\n",
        "\nshort\n",
        "Goodput (Mbit/s)",
        "| bottleneck | up",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
}
