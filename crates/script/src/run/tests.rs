mod guests;

use crate::{Report, Script, Settings};

const SERVER: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
";

/// Runs a script, without a profile of its own as a sender without tail loss probes: their times do not matter here.
fn run(text: &str) -> Report {
    let script = Script::parse("t.pkt", text).unwrap_or_else(|e| panic!("{e}"));
    let profile = script.profile().is_none().then(|| "linux-3.17".parse().expect("a profile"));
    script.run(&Settings { profile }).unwrap_or_else(|e| panic!("{e}"))
}

/// The failure's message of a script that follows [`SERVER`]; empty if it passes. The script starts at
/// line 8.
fn outcome(text: &str) -> String {
    match run(&format!("{SERVER}{text}")).failure {
        Some(failure) => format!("{}: {}", failure.line, failure.message),
        None => String::new(),
    }
}

#[test]
fn packets_must_be_sent_at_the_expected_time() {
    for (text, expected) in [
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1", ""),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.3 > P. 1:1001(1000) ack 1", ""),
        (
            "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.300001 > P. 1:1001(1000) ack 1",
            "10: the packet is not as expected: 0.000001 s too early",
        ),
        (
            "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.299999 > P. 1:1001(1000) ack 1",
            "10: no packet left by then",
        ),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.2~+.3 > P. 1:1001(1000) ack 1", ""),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n0.4~0.5 > P. 1:1001(1000) ack 1", ""),
        (
            "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n* > P. 1:1001(1000) ack 1\n+.6 > P. 1:1001(1000) ack 1",
            "",
        ),
        (
            "+0 write(4, ..., 1000) = 1000\n+.1 < . 1:1(0) ack 1 win 5",
            "9: a packet left at 0.100000 that the script does not expect, and the script goes on",
        ),
        (
            "+0 write(4, ..., 1000) = 1000",
            "8: a packet left at 0.100000 that the script does not expect, and the script ends",
        ),
        ("+0 > . 1:1(0) ack 1", "8: no packet left by then"),
        ("+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1", ""),
        ("0.05 `true`", "8: the event's time, 0.050000, has passed: it is 0.100000"),
    ] {
        assert_eq!(outcome(text), expected, "{text}");
    }
}

#[test]
fn calls_must_return_the_expected_result_in_time() {
    for (text, expected) in [
        (
            "+0 read(4, ..., 100) = 0",
            "8: `read` blocks; where that is meant, write when it returns: `0.1...0.2 read(…)`",
        ),
        (
            "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 read(4, ..., 100) = -1 EAGAIN\n+0 fcntl(4, F_GETFL) = 0x802",
            "",
        ),
        ("+0...+.1 read(4, ..., 100) = 10\n+.1 < P. 1:11(10) ack 1 win 5\n+0 > . 1:1(0) ack 11", ""),
        (
            "+0...+.2 read(4, ..., 100) = 10\n+.1 < P. 1:11(10) ack 1 win 5\n+0 > . 1:1(0) ack 11",
            "8: `read` returned at 0.200000, expected at 0.300000",
        ),
        ("+0...+.1 read(4, ..., 100) = 10", "8: `read` has not returned at 0.200000"),
        (
            "+0 < P. 1:11(10) ack 1 win 5\n+0 > . 1:1(0) ack 11\n+0 read(4, ..., 4) = 4\n+0 ioctl(4, SIOCINQ, [6]) = 0\n+0 read(4, ..., 9) = 5",
            "12: `read` returned 6, expected 5",
        ),
        (
            "+0 < F. 1:1(0) ack 1 win 5\n+0 > . 1:1(0) ack 2\n+0 read(4, ..., 4) = 0\n+0 close(4) = 0\n+0 > F. 1:1(0) ack 2",
            "",
        ),
        ("+0 < P. 1:11(10) ack 1 win 5\n+0 > . 1:1(0) ack 11\n+0 close(4) = 0\n+0 > R. 1:1(0) ack 11", ""),
        (
            "+0 < R. 1:1(0) ack 1 win 5\n+0 read(4, ..., 4) = -1 ECONNRESET\n+0 read(4, ..., 4) = 0\n+0 write(4, ..., 4) = -1 EPIPE",
            "",
        ),
        ("+0 shutdown(4, SHUT_WR) = 0\n+0 > F. 1:1(0) ack 1\n+0 write(4, ..., 1) = -1 EPIPE", ""),
        ("+0 shutdown(4, SHUT_RD) = 0\n+0 read(4, ..., 1) = 0", ""),
        ("+0 close(9) = -1 EBADF", ""),
        ("+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1", ""),
        ("+0...+.05 poll([{fd=4, events=POLLIN, revents=0}], 1, 50) = 0", ""),
        (
            "+0 poll([{fd=4, events=POLLOUT, revents=POLLIN}], 1, 0) = 1",
            "8: poll says POLLOUT of descriptor 4, expected POLLIN",
        ),
        (
            "+0 epoll_create(1) = 5\n+0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4}) = 0\n\
          +0...+.1 epoll_wait(5, {events=EPOLLIN, fd=4}, 1, -1) = 1\n+.1 < P. 1:11(10) ack 1 win 5\n+0 > . 1:1(0) ack 11",
            "",
        ),
        ("+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0", ""),
        // A listener has no connection, and reports the default.
        ("+0 getsockopt(3, SOL_TCP, TCP_MAXSEG, [536], [4]) = 0", ""),
        ("+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [999], [4]) = 0", "8: TCP_MAXSEG is 1000, expected 999"),
        ("+0 writev(4, [{..., 400}, {..., 600}], 2) = 1000\n+0 > P. 1:1001(1000) ack 1", ""),
        (
            "+0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=0}, 0) = 1000\n+0 > P. 1:1001(1000) ack 1",
            "",
        ),
    ] {
        assert_eq!(outcome(text), expected, "{text}");
    }
}

#[test]
fn a_client_connects_waits_and_is_refused() {
    let connect = "// mss: 1000\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                   +0...0.1 connect(3, ..., ...) = RESULT\n\
                   +0 > S 77:77(0) <mss 1000,sackOK,TS val 5 ecr 0,nop,wscale 7>\n";
    let answered = format!(
        "{connect}+.1 < S. 500:500(0) ack 78 win 100 <mss 1000,sackOK>\n+0 > . 1:1(0) ack 1\n\
         +0 write(3, ..., 10) = 10\n+0 > P. 1:11(10) ack 1"
    );
    assert_eq!(run(&answered.replace("RESULT", "0")).failure, None);
    let refused = format!("{connect}+.1 < R. 0:0(0) ack 78 win 0");
    let refused = refused.replace("RESULT", "-1 ECONNREFUSED (Connection refused)");
    // Without a SYN, an incoming packet's numbers are relative to initial numbers: 78 is 77 + 1.
    assert_eq!(run(&refused.replace("ack 78", "ack 1")).failure, None);
}

#[test]
fn numbers_are_relative_except_in_a_syn() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                +0 < S 4294967290:4294967290(0) win 100 <mss 1000,sackOK>\n\
                +0 > S. 9000:9000(0) ack 4294967291 <mss 1460,nop,nop,sackOK>\n\
                +0 < . 1:1(0) ack 1 win 100\n+0 accept(3, ..., ...) = 4\n\
                +0 < P. 11:21(10) ack 1 win 100\n+0 > . 1:1(0) ack 1 <nop,nop,sack 11:21>\n\
                +0 < P. 1:11(10) ack 1 win 100\n+0 > . 1:1(0) ack 21";
    assert_eq!(run(text).failure, None);
}

/// The complete text of a failure.
#[test]
fn a_mismatch_shows_both_packets_and_those_before() {
    let text = format!("{SERVER}+0 write(4, ..., 3000) = 3000\n+0 > P. 1:2001(2000) ack 1\n");
    let failure = run(&text).failure.expect("a failure");
    let message = "the packet is not as expected: flags . instead of P.";
    assert_eq!((failure.line, failure.message.as_str()), (9, message));
    let details = "     9 | +0 > P. 1:2001(2000) ack 1
expected 0.100000 > P. 1001:2001(1000) ack 1
  actual 0.100000 > . 1001:2001(1000) ack 1 win 512
  before:
         0.000000 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
         0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK,nop,wscale 7>
         0.100000 < . 1:1(0) ack 1 win 1000
         0.100000 > . 1:1001(1000) ack 1 win 512
";
    assert_eq!(failure.details, details);
}

#[test]
fn settings_have_an_effect_or_give_a_note() {
    let text = "`sysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0\n\
                ip route change 192.0.2.0/24 dev tun0 initcwnd 2 && tc qdisc add x`\n\
                0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [9], 4) = 0\n\
                +0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 65535 <mss 1000,sackOK,TS val 1 ecr 0>\n+0 > S. 0:0(0) ack 1 <mss 1460>\n\
                +0 < . 1:1(0) ack 1 win 65535\n+0 accept(3, ..., ...) = 4\n\
                +0 write(4, ..., 5000) = 5000\n+0 > . 1:2001(2000) ack 1\n\
                +0 %{ cwnd = tcpi_snd_cwnd; print('cwnd', cwnd); assert cwnd == 2 }%";
    let report = run(text);
    assert_eq!(report.failure, None);
    assert_eq!(report.printed, [(13, "cwnd 2".into())]);
    let notes: Vec<_> = report.notes.iter().map(|n| (n.line, n.text.as_str())).collect();
    let expected = [(2, "`tc` is not run: no shell is run"), (4, "SO_SNDBUF has no effect: writes take any length")];
    assert_eq!(notes, expected);
}

#[test]
fn unsupported_parts_are_errors() {
    for (text, error) in [
        ("+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0", "8:27: setsockopt of `TCP_CORK` is not supported"),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_NODLAY, [1], 4) = 0",
            "8:27: setsockopt of `TCP_NODLAY` is not supported, did you mean `TCP_NODELAY`?",
        ),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"renoo\", 4) = 0",
            "8:43: unknown congestion control `renoo`, did you mean `reno`?",
        ),
        ("+0 send(4, ..., 10, MSG_OOB) = 10", "8:21: unknown constant `MSG_OOB`"),
        (
            "+0 send(4, ..., 10, MSG_MORE) = 10",
            "8:21: flags of `send`: only MSG_DONTWAIT and MSG_NOSIGNAL are supported",
        ),
        ("+0 accept(3, ..., ...) = 4", "8:1: "),
        ("+0 write(4, ..., -5) = 5", "8:18: -5: expected a number of bytes up to 2^30"),
        ("+0 `sysctl net.ipv4.tcp_sak=1`", "8:4: unknown setting `net.ipv4.tcp_sak`, did you mean `tcp_sack`?"),
        ("+0 socket(..., SOCK_DGRAM, 0) = 5", "8:1: only SOCK_STREAM sockets are supported"),
        ("+0 socket(..., SOCK_STREAM, IPPROTO_UDP) = 5", "8:29: only TCP is supported, expected IPPROTO_TCP or 0"),
        (
            "+0 socket(..., SOCK_STREAM, 17) = -1 EINVAL (no such protocol)",
            "8:29: only TCP is supported, expected IPPROTO_TCP or 0",
        ),
        ("+0 socket(..., SOCK_STREAM) = 5", "8:1: `socket`: expected IPPROTO_TCP as argument 3"),
        ("+0 %{ assert 1 // 0 }%", "8:14: division by zero"),
    ] {
        let script = Script::parse("t.pkt", &format!("{SERVER}{text}")).unwrap_or_else(|e| panic!("{e}"));
        match script.run(&Settings::default()) {
            Err(e) => assert!(e.to_string().starts_with(&format!("t.pkt:{error}")), "{text}: {e}"),
            // A second accept waits for a connection that cannot be made.
            Ok(report) => assert!(report.failure.is_some_and(|f| f.message.contains("blocks")), "{text}"),
        }
    }
}

#[test]
fn all_names_of_tcp_are_accepted() {
    for protocol in ["IPPROTO_TCP", "0", "6", "IPPROTO_IP", "..."] {
        let report = run(&format!("0 socket(..., SOCK_STREAM, {protocol}) = 3\n+0 close(3) = 0"));
        assert_eq!(report.failure, None, "{protocol}");
    }
}

/// The profile of the settings overrides the script's.
#[test]
fn the_given_profile_overrides_the_scripts() {
    let text = format!(
        "// profile: linux-3.17+tlp\n{SERVER}+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.3 > P. 1:1001(1000) ack 1\n+0 %{{ assert tcpi_ca_state == TCP_CA_Loss }}%"
    );
    let script = Script::parse("t.pkt", &text).expect("a script");
    let passes = |profile: Option<&str>| {
        let profile = profile.map(|p| p.parse().expect("a profile"));
        let report = script.run(&Settings { profile }).expect("a script that runs");
        (report.subject.to_string(), report.passed())
    };
    assert_eq!(passes(None), ("linux-3.17+tlp".into(), false));
    assert_eq!(passes(Some("linux-3.17")), ("linux-3.17".into(), true));
}

/// Without a profile anywhere, the sender is that of current Linux: a tail loss probe after two round trips.
#[test]
fn the_default_profile_is_that_of_current_linux() {
    let text =
        format!("{SERVER}+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n+.202 > P. 1001:2001(1000) ack 1");
    let report =
        Script::parse("t.pkt", &text).expect("a script").run(&Settings::default()).expect("a script that runs");
    assert_eq!(report.subject.to_string(), "linux-6");
    assert!(report.passed(), "{:?}", report.failure);
}
