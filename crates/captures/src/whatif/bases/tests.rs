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
        order[..6],
        ["linux-2.4", "linux-3.17+tlp", "linux-3.17+tlp+bbr1", "linux-3.17", "solaris-10", "linux-6"]
    );
    assert_eq!(order.len(), bases.known().len());
    assert!(order.contains(&"rfc6675".into()));
    // One retransmission says less than those of the host.
    let mut hardly = candidate("192.0.2.1:80");
    hardly.identified = identified(&[("windows-xp", FEW - 1)]);
    let order = names(&hardly);
    let on_host = ["linux-3.17+tlp", "linux-3.17+tlp+bbr1", "linux-3.17"];
    assert_eq!(order[..3], on_host);
    assert_eq!(order[4], "windows-xp");
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
