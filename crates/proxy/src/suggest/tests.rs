//! What captures of simulated flows suggest. Their clients fetch 50 kB or so from one server.

use super::*;
use recoup_captures::whatif::PROFILES;
use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_sim::Simulation;
use recoup_stack::TcpOptions;
use recoup_units::FlowId;

/// The suggestion from a capture at the server of 40 flows, whose server runs this profile.
fn suggested(profile: &str, settings: &[(&str, &str)], place: Place<'_>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let [server, client] = ["server.pcap", "client.pcap"].map(|name| folder.path().join(name));
    let mut capture = Capture::create(&CapturePaths { server: server.clone(), client }).unwrap();
    let mut scenario = Scenario::load("fetch").unwrap();
    for (key, value) in [("rtt", "60ms"), ("close", "true")].iter().chain(settings) {
        scenario.set(key, value).unwrap();
    }
    let flow = scenario.settings.flow(&profile.parse().unwrap());
    let mut simulation = Simulation::new(&scenario.settings.path().unwrap()).unwrap();
    for number in 0..40 {
        simulation.run(&flow, 1, FlowId(number), &mut capture);
    }
    capture.finish().unwrap();
    let (captures, bar, settings) = ([server], CaptureBar::new(false), Settings::default());
    let input = Input::new(&captures, true).unwrap();
    let all = input.each(&bar, |capture| what_if(capture, &request(), &settings, &bar));
    text(&all.analyzed[0], place)
}

/// The line with the command.
fn command_of(text: &str) -> Option<&str> {
    text.lines().find(|line| line.starts_with("recoup proxy "))
}

#[test]
fn lost_tails_suggest_a_profile_with_the_length_of_a_trial() {
    let text = suggested("linux-6+notlp", &[("drop", "tail:1")], Place::default());
    println!("{text}");
    let command = command_of(&text).unwrap();
    // The control is Linux 6, which probes; or the sender's own, where Linux 6 is named.
    assert!(command.contains(" --profile linux-6"), "{text}");
    assert!(command.ends_with(" --summary"), "{text}");
    assert!(text.contains("95 % interval") && text.contains("a trial shows it after about"), "{text}");
    let listen = command.split(' ').nth(3).unwrap();
    assert!(listen.parse::<std::net::SocketAddr>().is_ok(), "{text}");
    assert!(text.contains(&format!("the connections of {listen} would have ended")), "{text}");
}

#[test]
fn the_user_says_where_the_proxy_stands() {
    let place = Place { listen: Some("198.51.100.9:443"), upstream: Some("localhost:8443") };
    let text = suggested("linux-3.17", &[("drop", "tail:1")], place);
    let command = command_of(&text).unwrap();
    assert!(
        command.starts_with("recoup proxy --listen 198.51.100.9:443 --upstream localhost:8443 --profile "),
        "{text}"
    );
}

#[test]
fn without_losses_no_proxy_is_suggested() {
    let text = suggested("linux-6", &[("drop", "none")], Place::default());
    assert_eq!(command_of(&text), None);
    assert!(text.contains("No proxy is suggested. No sender retransmitted or lost time."), "{text}");
}

#[test]
fn the_stack_runs_each_profile_that_may_be_suggested() {
    for name in PROFILES {
        assert!(TcpOptions::of_profile(name).is_ok(), "{name}");
    }
}

#[test]
fn a_trial_without_a_gain_beside_its_control_is_not_timed() {
    let arm = recoup_captures::whatif::Arm { connections: 50, mean_ms: 300.0, variance: 1e4 };
    let trial =
        AbTrial { control: "linux-6".into(), is_todays: false, effect_ms: 2.0, half_ms: Some(1.0), arms: [arm; 2] };
    let server = ServerToTry {
        address: "192.0.2.1:80".parse().unwrap(),
        connections: 50,
        per_second: Some(2.0),
        mean_fct_ms: 300.0,
        profile: Default::default(),
        trial: None,
    };
    assert!(how_long(&server, &trial).contains("no trial would show one"));
    let gain = AbTrial { effect_ms: -10.0, ..trial };
    // 2 · 2 · (2.8016 / 10)² · 10⁴ connections, at two a second.
    let text = how_long(&server, &gain);
    assert!(text.contains("3,140 connections, or 26.2 min at 2.00 connections a second"), "{text}");
}
