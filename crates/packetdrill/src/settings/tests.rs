use super::*;

/// Environment variables, names and values.
type Variables<'a> = &'a [(&'a str, &'a str)];

fn settings(flags: &str, variables: Variables) -> Result<Settings, String> {
    Settings::of(flags, |name| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.to_string())
    })
}

#[test]
fn flags_rule_over_the_environment() {
    let cases: [(&str, Variables, &str, u16); 4] = [
        ("", &[], "linux-6", 1500),
        ("", &[(PROFILE_VARIABLE, "linux-3.17")], "linux-3.17", 1500),
        ("mtu=1520", &[(MTU_VARIABLE, "9000")], "linux-6", 1520),
        ("profile=linux-6+reno, mtu=1400", &[(PROFILE_VARIABLE, "linux-3.17")], "linux-6+reno", 1400),
    ];
    for (flags, variables, profile, mtu) in cases {
        let settings = settings(flags, variables).unwrap();
        assert_eq!((settings.profile.name(), settings.mtu), (profile, mtu));
    }
}

#[test]
fn what_is_not_known_is_named() {
    let error = |flags| settings(flags, &[]).unwrap_err();
    assert_eq!(error("mtu=100"), "--so_flags: MTU '100', expected bytes, 176 to 65535");
    assert_eq!(error("colour=red"), "--so_flags: unknown flag 'colour', expected one of: profile, mtu");
    let named = settings("", &[(PROFILE_VARIABLE, "linux-9")]).unwrap_err();
    assert!(named.starts_with("RECOUP_PROFILE: unknown profile 'linux-9'"), "{named}");
}

#[test]
fn the_mss_is_what_the_headers_leave_of_the_mtu() {
    let settings = settings("mtu=1520", &[]).unwrap();
    assert_eq!([settings.mss(false), settings.mss(true)], [1480, 1460]);
    let config = settings.config(&Sysctls::default(), true);
    assert_eq!((config.announced_mss(), config.mss), (1460, 1448));
}
