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
fn sysctls_limit_what_a_socket_takes() {
    let settings = settings("", &[]).unwrap();
    let limits = |sysctls: &Sysctls| {
        let options = settings.options(sysctls);
        (options.send_buffer, options.unsent)
    };
    assert_eq!(limits(&Sysctls::default()), (16_384, u64::MAX));
    let unlimited = Sysctls { wmem: Some([1, 2, 3]), notsent_lowat: Some(u64::from(u32::MAX)), ..Sysctls::default() };
    assert_eq!(limits(&unlimited), (2, u64::MAX));
    assert_eq!(limits(&Sysctls { notsent_lowat: Some(7), ..Sysctls::default() }), (16_384, 7));
}
