//! Which profile is named.

use super::super::candidates::tests::candidate;
use super::super::interval::ModelError;
use super::super::reruns::tests::{prediction, rerun};
use super::*;
use std::sync::Arc;

const SERVER: &str = "192.0.2.1:80";

/// An answer about connections of these servers. `changes` has the change of each connection under each profile, in ms.
fn answer(connections: &[(&str, Host)], profiles: &[&str], changes: &[&[f64]]) -> Answer {
    let candidates = connections.iter().map(|(server, sender)| Candidate { sender: *sender, ..candidate(server) });
    let reruns = changes.iter().enumerate().map(|(number, changes)| {
        let predictions = changes.iter().map(|change| Some(prediction(*change))).collect();
        Arc::new(Rerun { candidate: number, predictions, ..rerun(1000.0 + 10.0 * number as f64) })
    });
    Answer {
        rerun: changes.len() as u64,
        shows_losses: true,
        names_profile: true,
        profiles: profiles.iter().map(|name| (*name).into()).collect(),
        model: ModelError { mean: 0.0, mean_square: 1.0 },
        candidates: candidates.collect(),
        base_names: vec!["linux-6".into()],
        reruns: reruns.collect(),
        ..Answer::default()
    }
}

fn named(answer: &Answer) -> Option<String> {
    answer.profile_to_try().unwrap().named.map(|(name, _)| name)
}

/// So many connections of one server under the same changes, which vary by up to 4 ms.
fn alike(profiles: &[&str], changes: &[f64]) -> Answer {
    let rows: Vec<Vec<f64>> = (0..20)
        .map(|row| {
            changes.iter().map(|change| if *change == 0.0 { 0.0 } else { change + f64::from(row % 5) }).collect()
        })
        .collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    answer(&[(SERVER, Host::Server); 20], profiles, &rows)
}

#[test]
fn the_profile_with_the_largest_gain_is_named() {
    let found = alike(&["linux-6", "linux-6+tlpr", "linux-6+slp"], &[0.0, -30.0, -60.0]);
    assert_eq!(named(&found).as_deref(), Some("linux-6+slp"));
    assert_eq!(found.profile_to_try().unwrap().connections, 20);
}

#[test]
fn of_profiles_that_do_not_differ_beyond_chance_the_one_with_fewer_mechanisms_is_named() {
    let both = ["linux-6+tlpr+rtorrfc", "linux-6+tlpr"];
    assert_eq!(named(&alike(&both, &[-30.2, -30.0])).as_deref(), Some("linux-6+tlpr"));
    assert_eq!(named(&alike(&both, &[-40.0, -30.0])).as_deref(), Some("linux-6+tlpr+rtorrfc"));
}

#[test]
fn no_profile_is_named_where_none_helps_beyond_chance() {
    assert_eq!(named(&alike(&["linux-6", "linux-6+tlpr"], &[0.0, 0.0])), None);
    assert_eq!(named(&alike(&["linux-6", "linux-6+tlpr"], &[0.0, 30.0])), None);
    // The mean is negative, but it rests on one connection of ten.
    let mut rows = [[0.0]; 10];
    rows[3] = [-500.0];
    let rows: Vec<&[f64]> = rows.iter().map(|row| &row[..]).collect();
    assert_eq!(named(&answer(&[(SERVER, Host::Server); 10], &["linux-6+tlpr"], &rows)), None);
}

#[test]
fn the_more_profiles_are_tried_the_surer_each_must_be() {
    // Ten changes whose mean is 2.6 standard errors from 0: a chance of 0.03.
    let rows: Vec<[f64; 1]> =
        [-30.0, -20.0, 6.0, 4.0, -25.0, 5.0, -22.0, 3.0, -28.0, -4.0].map(|change| [change]).to_vec();
    let with = |more: usize| {
        let profiles: Vec<String> = (0..=more).map(|n| format!("linux-6+{n}")).collect();
        let profiles: Vec<&str> = profiles.iter().map(String::as_str).collect();
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| [&row[..], &vec![0.0; more]].concat()).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        named(&answer(&[(SERVER, Host::Server); 10], &profiles, &rows))
    };
    assert_eq!(with(0).as_deref(), Some("linux-6+0"));
    assert_eq!(with(8), None);
}

#[test]
fn connections_whose_clients_send_do_not_count() {
    let ends = [(SERVER, Host::Server), (SERVER, Host::Server), (SERVER, Host::Client), (SERVER, Host::Client)];
    let found = answer(&ends, &["linux-6+tlpr"], &[&[0.0], &[0.0], &[-500.0], &[-501.0]]);
    let found = found.profile_to_try().unwrap();
    assert_eq!((found.connections, found.sent_by_clients, found.named), (2, 2, None));
}

#[test]
fn a_profile_under_which_a_connection_does_not_complete_is_not_named() {
    let mut found = alike(&["linux-6+tlpr"], &[-30.0]);
    assert!(named(&found).is_some());
    Arc::make_mut(&mut found.reruns[0]).predictions[0] = None;
    assert_eq!(named(&found), None);
}

#[test]
fn servers_come_by_what_they_would_win_with_a_trial_beside_their_own_sender() {
    let servers = [("192.0.2.1:80", -10.0), ("192.0.2.2:443", -300.0), ("[2001:db8::1]:80", 0.0)];
    let all: Vec<(&str, f64)> = servers.iter().flat_map(|one| [*one; 8]).collect();
    let ends: Vec<(&str, Host)> = all.iter().map(|(server, _)| (*server, Host::Server)).collect();
    let rows: Vec<[f64; 2]> = all.iter().map(|(_, change)| [0.0, *change]).collect();
    let rows: Vec<&[f64]> = rows.iter().map(|row| &row[..]).collect();
    let found = answer(&ends, &["linux-6", "linux-6+tlpr"], &rows).servers_to_try();
    let listed: Vec<(String, f64)> = found.iter().map(|one| (one.address.to_string(), one.gain_ms())).collect();
    assert_eq!(
        listed,
        [("192.0.2.2:443".into(), 2400.0), ("192.0.2.1:80".into(), 80.0), ("[2001:db8::1]:80".into(), 0.0)]
    );
    // Each candidate lasts from 0 to 900 ms.
    assert!((found[0].per_second.unwrap() - 8.0 / 0.9).abs() < 1e-9);
    let trial = found[0].trial.as_ref().unwrap();
    assert_eq!((trial.control.as_str(), trial.is_todays, trial.effect_ms), ("linux-6", true, -300.0));
    assert!(trial.connections().unwrap() <= trial.most_connections().unwrap());
    assert_eq!(found[2].trial, None);
}

#[test]
fn where_linux_6_itself_is_named_the_trial_is_beside_what_the_server_behaves_like() {
    let mut found = alike(&["linux-6", "linux-6+tlpr"], &[-200.0, -100.0]);
    found.base_names = vec!["rfc6675".into()];
    let servers = found.servers_to_try();
    let trial = servers[0].trial.as_ref().unwrap();
    assert_eq!((trial.control.as_str(), trial.is_todays), ("rfc6675", true));
    assert_eq!(trial.arms[0].connections, 20);
    // A stack runs another profile beside Linux 6, if the server's own is not among those tried.
    let mut other = alike(&["linux-6", "linux-6+tlpr"], &[-100.0, -200.0]);
    other.base_names = vec!["rfc6675".into()];
    let servers = other.servers_to_try();
    let trial = servers[0].trial.as_ref().unwrap();
    assert_eq!((trial.control.as_str(), trial.is_todays, trial.effect_ms), ("linux-6", false, -100.0));
}

#[test]
fn the_profiles_tried_by_default_are_profiles_and_each_is_another() {
    let all = profiles_to_try(&[]);
    assert_eq!(all.len(), PROFILES.len());
    let mechanisms: Vec<_> = all
        .iter()
        .map(|one| match one {
            Alternative::Profile(profile) => *profile.mechanisms(),
            other => panic!("{other:?}"),
        })
        .collect();
    for (number, one) in mechanisms.iter().enumerate() {
        assert!(!mechanisms[..number].contains(one), "{}", PROFILES[number]);
    }
}

#[test]
fn what_the_user_tries_decides_which_profiles_are_tried() {
    let asked = ["rfc6675", "+tlpr+rtor", "congestion-control=bbr"].map(|text| Alternative::parse(text).unwrap());
    let names: Vec<String> = profiles_to_try(&asked).iter().map(|one| one.name().into()).collect();
    assert_eq!(names, ["rfc6675", "linux-6+tlpr+rtor"]);
}
