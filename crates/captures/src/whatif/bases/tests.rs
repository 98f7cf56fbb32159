use super::super::candidates::tests::candidate;
use super::*;

#[test]
fn its_own_profile_comes_first_then_its_hosts_then_the_captures_then_all() {
    let identified = |names: &[(&str, u64)]| {
        let names = names.iter().map(|(name, count)| ((*name).into(), *count));
        names.collect::<Vec<_>>()
    };
    let mut own = candidate("192.0.2.1:80");
    own.identified = identified(&[("linux-2.4", FEW)]);
    let mut same_host = candidate("192.0.2.1:80");
    same_host.identified = identified(&[("linux-3.17", 5), ("linux-3.17+tlp", 9)]);
    let mut other = candidate("192.0.2.9:80");
    other.identified = identified(&[("solaris-10", 50)]);
    let all = [own, same_host, other];
    let bases = Bases::new(&all, None);
    let names = |candidate| {
        let order = bases.order(candidate);
        let names = order.iter().map(|i| bases.known()[*i].name());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let order = names(&all[0]);
    assert_eq!(
        order[..9],
        [
            "linux-2.4",
            "linux-3.17+tlp",
            "linux-3.17+tlp+bbr1",
            "linux-3.17+tlp+reno",
            "linux-3.17+tlp+noidle",
            "linux-3.17+tlp+reno+noidle",
            "linux-3.17",
            "solaris-10",
            "linux-6"
        ]
    );
    assert_eq!(order.len(), bases.known().len());
    assert!(order.contains(&"rfc6675".into()));
    // One retransmission says less than those of the host.
    let mut hardly = candidate("192.0.2.1:80");
    hardly.identified = identified(&[("windows-xp", FEW - 1)]);
    let order = names(&hardly);
    assert_eq!([&*order[0], &order[1], &order[5]], ["linux-3.17+tlp", "linux-3.17+tlp+bbr1", "linux-3.17"]);
    assert_eq!(order[7], "windows-xp");
    // Nothing is known of this host.
    assert_eq!(names(&candidate("192.0.2.77:80"))[0], "solaris-10");
}

#[test]
fn a_given_profile_is_the_only_one() {
    let given: Profile = "rfc6675".parse().unwrap();
    let bases = Bases::new(&[], Some(&given));
    assert_eq!(bases.order(&candidate("192.0.2.1:80")), [0]);
    assert_eq!(bases.known(), [given]);
}

fn voted(votes: &[&[&str]]) -> (Vec<String>, Vec<SenderFact>) {
    let of_listener = candidate("192.0.2.1:80");
    let mut bases = Bases::new(std::slice::from_ref(&of_listener), None);
    let listener = of_listener.listener();
    assert!(bases.asks(&listener));
    let ballot = |names: &&[&str]| bases.known().iter().map(|known| names.contains(&known.name())).collect();
    let ballots: Vec<(Listener, Vec<bool>)> = votes.iter().map(|names| (listener, ballot(names))).collect();
    bases.take_votes(ballots.into_iter());
    assert_eq!(bases.asks(&listener), votes.len() < LEAST_VOTES, "a single vote decides nothing");
    // Another port has its own sender.
    assert!(bases.voted(&candidate("192.0.2.1:443").listener()).is_empty());
    let names = bases.voted(&listener).into_iter().map(|number| bases.known()[number].name().to_owned());
    (names.collect(), bases.facts())
}

#[test]
fn the_profile_that_reproduces_most_connections_of_a_listener_is_its_base() {
    assert!(voted(&[&["rfc6675", "linux-6"]]).0.is_empty(), "one vote may be chance");
    let (names, facts) = voted(&[&["rfc6675", "linux-6"], &["rfc6675"], &[]]);
    assert_eq!(names, ["rfc6675"]);
    assert_eq!(facts[0].profiles, [("rfc6675".to_owned(), 2)]);
    assert_eq!((facts[0].port, facts[0].voters), (Some(80), 3));
    // Of equals the first in order.
    assert_eq!(voted(&[&["rfc6675", "linux-6"], &["rfc6675"], &["linux-6"]]).0, ["linux-6"]);
}

#[test]
fn a_vote_more_of_many_is_chance() {
    let votes = |other: &'static [&'static str], both: &'static [&'static str], more: usize| {
        voted(&[&vec![other; more][..], &vec![both; 12 - more]].concat()).0
    };
    let other: &[&str] = &["linux-3.17+tlp"];
    let both: &[&str] = &["linux-3.17+tlp", "linux-6"];
    assert_eq!(votes(other, both, 1), ["linux-6"]);
    assert_eq!(votes(other, both, 2), ["linux-3.17+tlp"]);
    // Between settings of one system each counts.
    assert_eq!(votes(&["linux-6+reno"], &["linux-6", "linux-6+reno"], 1), ["linux-6+reno"]);
}

#[test]
fn connections_that_the_first_profile_does_not_reproduce_make_a_group_if_they_agree() {
    let [cubic, bbr, both] = [&["linux-6"][..], &["linux-6+bbr1"], &["linux-6", "linux-6+bbr1"]];
    let (names, facts) = voted(&[cubic, bbr, cubic, bbr, both, bbr, cubic, cubic]);
    assert_eq!(names, ["linux-6", "linux-6+bbr1"]);
    assert_eq!(facts[0].profiles, [("linux-6".to_owned(), 5), ("linux-6+bbr1".to_owned(), 3)]);
    assert_eq!(voted(&[cubic, bbr, cubic, bbr, cubic, &["reno"], &["rfc6675"]]).0, ["linux-6"], "two may be chance");
}
