use super::*;
use std::net::SocketAddr;

fn filter(text: &str) -> Filter {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn packet(src: &str, dst: &str) -> Endpoints {
    let end = |text: &str| text.parse::<SocketAddr>().unwrap();
    Endpoints { src: end(src), dst: end(dst) }
}

/// Packets that each table tests, named by a letter.
fn packets() -> [(char, Endpoints); 6] {
    let [client, server] = ["192.0.2.1:40000", "198.51.100.2:80"];
    [
        ('a', packet(client, server)),
        ('b', packet(server, client)),
        ('c', packet("192.0.2.1:443", "10.1.2.3:8080")),
        ('d', packet("10.1.0.0:80", "10.2.0.0:80")),
        ('e', packet("[2001:db8::1]:40000", "[2001:db8:1::2]:443")),
        ('f', packet("[2001:db8:1::2]:443", "[2001:db8::1]:40000")),
    ]
}

/// The packets that tcpdump 4.99.3 with libpcap 1.10.3 selects. An expression below another one with
/// the same packets says the same in another way.
#[test]
fn packets_match_as_in_libpcap() {
    for (text, expected) in [
        ("tcp", "abcdef"),
        ("ip", "abcd"),
        ("ip6", "ef"),
        ("not ip", "ef"),
        ("! ! ip", "abcd"),
        ("host 192.0.2.1", "abc"),
        ("src host 192.0.2.1", "ac"),
        ("src 192.0.2.1", "ac"),
        ("dst 192.0.2.1", "b"),
        ("src or dst 192.0.2.1", "abc"),
        ("dst || src host 192.0.2.1", "abc"),
        ("src and dst net 10", "d"),
        ("ip src host 192.0.2.1", "ac"),
        ("host 2001:db8::1", "ef"),
        ("ip6 dst host 2001:db8::1", "f"),
        ("net 10", "cd"),
        ("net 10.1", "cd"),
        ("net 10.1/16", "cd"),
        ("net 10.1.0.0", "d"),
        ("net 10.1.2", "c"),
        ("net 10.0.0.0/8", "cd"),
        ("net 10.0.0.0 mask 255.0.0.0", "cd"),
        ("net 0.0.2.0 mask 0.0.255.0", "abc"),
        ("net 0.0.0.0/0", "abcd"),
        ("net 2001:db8::/48", "ef"),
        ("src net 2001:db8::/48", "e"),
        ("net 2001:db8::/64", "ef"),
        ("net ::/0", "ef"),
        ("net 2001:db8::1", "ef"),
        ("port 80", "abd"),
        ("src port 80", "bd"),
        ("src and dst port 80", "d"),
        ("tcp port 443", "cef"),
        ("tcp src port 443", "cf"),
        ("portrange 80-443", "abcdef"),
        ("portrange 8080-8000", "c"),
        ("dst portrange 8080", "c"),
        // A missing qualifier repeats the one before.
        ("port 443 or 8080", "cef"),
        ("src port 443 or 40000", "acef"),
        ("host 10.1.2.3 or 2001:db8::1", "cef"),
        ("host (10.1.2.3 or 2001:db8::1)", "cef"),
        ("port 80 and not 40000", "d"),
        ("port 80 and not (40000 or 443)", "d"),
        ("port not 80", "cef"),
        ("port (not 80)", "cef"),
        ("host 192.0.2.1 and port 80 or 443", "abcef"),
        // `and` and `or` have one precedence and associate to the left.
        ("port 8080 or port 80 and src port 80", "bd"),
        ("port 8080 or (port 80 and src port 80)", "bcd"),
        ("not port 80 and src port 443 or src port 40000", "acef"),
        ("not (port 80 and src port 80) and ip", "ac"),
        ("(ip)&&!(port 8080||src port 80)", "a"),
    ] {
        let parsed = filter(text);
        let found = packets().into_iter().filter(|(_, ends)| parsed.matches(ends));
        let found: String = found.map(|(name, _)| name).collect();
        assert_eq!(found, expected, "{text}");
        let printed = parsed.to_string();
        assert_eq!(filter(&printed), parsed, "{text} is printed as {printed}");
    }
}

#[test]
fn a_connection_is_selected_if_either_direction_matches() {
    let connection = packet("192.0.2.1:40000", "198.51.100.2:80");
    for (text, expected) in [
        ("src port 80", true),
        ("dst port 80", true),
        ("not src port 80", true),
        ("not port 80", false),
        ("src port 81", false),
    ] {
        for ends in [connection, connection.reverse()] {
            assert_eq!(filter(text).selects(&ends), expected, "{text}");
        }
    }
}

#[test]
fn filters_are_printed_with_all_qualifiers() {
    for (text, printed) in [
        ("src 10.1.2.3 or 10.1.2.4", "src host 10.1.2.3 or src host 10.1.2.4"),
        ("port(80||443)&&!ip6", "(port 80 or port 443) and not ip6"),
        ("not not ((tcp port 80))", "port 80"),
        ("dst or src portrange 9-9", "port 9"),
        ("net 10.1", "net 10.1.0.0/16"),
        ("net 0", "host 0.0.0.0"),
        ("net 10.0.0.0 mask 255.0.0.0", "net 10.0.0.0/8"),
        ("net 10.0.3.0 mask 255.0.255.0", "net 10.0.3.0 mask 255.0.255.0"),
        ("net 2001:DB8::/32", "net 2001:db8::/32"),
    ] {
        assert_eq!(filter(text).to_string(), printed);
    }
}

#[test]
fn errors_name_the_column_the_word_and_what_was_expected() {
    let words = "host, net, port, portrange, src, dst, ip, ip6, tcp, not, or (";
    for (text, expected) in [
        ("", format!("column 1: the filter ends: expected {words}")),
        ("  ", format!("column 3: the filter ends: expected {words}")),
        ("port 80 or", format!("column 11: the filter ends: expected {words}")),
        ("prot 80", format!("column 1: `prot`: expected {words}, did you mean `port`?")),
        ("tcp and vlan", format!("column 9: `vlan` is not supported: expected {words}")),
        ("port 80 and greater 9", format!("column 13: `greater` is not supported: expected {words}")),
        ("ether host 1:2:3:4:5:6", format!("column 1: `ether` is not supported: expected {words}")),
        (
            "tcp[13] & 2 != 0",
            format!("column 1: `tcp[13]` tests bytes of packets, which is not supported: expected {words}"),
        ),
        (
            "1.2.3.4",
            "column 1: `1.2.3.4`: expected `host 1.2.3.4`, `net 1.2.3.4` or another qualifier before it".into(),
        ),
        ("tcp or 80", "column 8: `80`: expected `port 80`, `net 80` or another qualifier before it".into()),
        (
            "(port 80 or 443) or 22",
            "column 21: `22`: expected `port 22`, `net 22` or another qualifier before it".into(),
        ),
        (
            "host example.com",
            "column 6: `example.com`: names are not looked up: expected an IPv4 or IPv6 address".into(),
        ),
        (
            "src hots 1.2.3.4",
            "column 5: `hots`: names are not looked up: expected an IPv4 or IPv6 address, did you mean `host`?".into(),
        ),
        ("src 443", "column 5: `443`: expected an IPv4 or IPv6 address, or `port` before 443".into()),
        ("host 10.1", "column 6: `10.1`: expected a whole address, or `net 10.1`".into()),
        ("host 1.2.3.256", "column 6: `1.2.3.256`: expected an IPv4 or IPv6 address".into()),
        ("host 1.2.3.4/24", "column 13: a host has no mask: expected `net` before 1.2.3.4".into()),
        ("net 10.1.2.3/16", "column 5: 10.1.2.3 has bits beyond its mask: expected net 10.1.0.0/16".into()),
        ("net 10.0.0.0/33", "column 14: `33`: expected a prefix length from 0 to 32".into()),
        ("net ::1/64", "column 5: ::1 has bits beyond its mask: expected net ::/64".into()),
        ("net 10.0.0.0 mask 8", "column 19: `8`: expected a mask, such as 255.255.0.0".into()),
        ("ip host ::1", "column 9: `::1`: expected an IPv4 address after `ip`".into()),
        (
            "tcp host 1.2.3.4",
            "column 1: `tcp` cannot qualify host: expected port or portrange after it, or `and`".into(),
        ),
        ("tcp prot 80", "column 5: `prot`: expected src, dst, port, portrange, and, or, did you mean `port`?".into()),
        ("ip proto 6", format!("column 4: `proto` is not supported: expected {words}")),
        ("port http", "column 6: `http`: expected a port from 0 to 65535".into()),
        ("port 65536", "column 6: `65536`: expected a port from 0 to 65535".into()),
        ("port 080", "column 6: `080`: expected a port from 0 to 65535".into()),
        ("port 80-90", "column 6: `80-90`: expected one port, or `portrange` before the range".into()),
        ("portrange 80-http", "column 11: `80-http`: expected a range of ports, such as 8000-8080".into()),
        ("port and", "column 6: `and`: expected a port from 0 to 65535".into()),
        ("src or port 80", "column 8: `port`: expected dst".into()),
        ("port 80 443", "column 9: `443`: expected and, or, or the end".into()),
        ("port 80 adn port 90", "column 9: `adn`: expected and, or, or the end, did you mean `and`?".into()),
        ("port 80 & port 90", "column 9: `&`: expected and, or, or the end".into()),
        ("(port 80", "column 1: `(` without `)`".into()),
        ("port 80)", "column 8: `)` without `(`".into()),
        ("(port 80 port 90)", "column 10: `port`: expected and, or, or `)`, did you mean `or`?".into()),
        ("port 80 or (443 or port 90)", "column 20: `port`: expected a port from 0 to 65535".into()),
        ("été 80", format!("column 1: `été`: expected {words}")),
        ("port 80 or été\u{7}", format!("column 12: `été\\u{{7}}`: expected {words}")),
    ] {
        assert_eq!(text.parse::<Filter>().unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn nesting_is_bounded_and_length_is_not() {
    let nested = |depth| format!("{}port 80{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(filter(&nested(64)).to_string(), "port 80");
    let error = nested(65).parse::<Filter>().unwrap_err().to_string();
    assert_eq!(error, "column 65: too many parentheses: expected at most 64 levels");
    assert!(nested(1 << 20).parse::<Filter>().is_err());
    let long = format!("{}port 80{}", "! ".repeat(100_001), " or 443 and 80".repeat(100_000));
    let long = filter(&long);
    assert_eq!(filter(&long.to_string()), long);
    assert!(long.matches(&packet("192.0.2.1:443", "192.0.2.2:80")));
}
