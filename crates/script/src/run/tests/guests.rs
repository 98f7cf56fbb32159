//! Scripts against a guest.

use crate::{Report, Script};
use recoup_guest::{Failed, Guest, Setup};
use recoup_stack::guest::OneConnection;

const SERVER: &str = "// needs: sack
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 100:100(0) win 65535 <mss 1000,nop,nop,sackOK>
+0 > S. 0:0(0) ack 101 <mss 1,sackOK>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
";

fn run(text: &str) -> Report {
    let script = Script::parse("t.pkt", text).unwrap_or_else(|e| panic!("{e}"));
    let mut make = |setup: &Setup| Ok(Box::new(OneConnection::new(setup)?) as Box<dyn Guest>);
    script.run_guest(&mut make, 7).unwrap_or_else(|e| panic!("{e}"))
}

/// The failure, or why the script does not apply, of a script that follows [`SERVER`], which has seven lines.
fn outcome(text: &str) -> String {
    said(&run(&format!("{SERVER}{text}")))
}

fn said(report: &Report) -> String {
    match (&report.failure, &report.not_applicable) {
        (Some(failure), _) => format!("{}: {}", failure.line, failure.message),
        (None, Some(why)) => format!("{} n/a: {}", why.line, why.reason),
        (None, None) => String::new(),
    }
}

#[test]
fn a_guests_packets_have_the_scripts_numbers_and_are_compared_loosely() {
    for (text, expected) in [
        ("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1", ""),
        (
            "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 2",
            "9: the packet is not as expected: ack 1 instead of 2",
        ),
        ("+0 < . 1001:2001(1000) ack 1 win 9\n+0 > . 1:1(0) ack 1 <nop,nop,sack 1001:2001>", ""),
        ("+0 < P. 1:101(100) ack 1 win 9\n+0~+.1 > . 1:1(0) ack 101\n+0 read(4, ..., 500) = 100", ""),
        (
            "+0 write(4, ..., 1000) = 1000\n+.1 < . 1:1(0) ack 1 win 9",
            "9: a packet left at 0.100000 that the script does not expect, and the script goes on",
        ),
    ] {
        assert_eq!(outcome(text), expected, "{text}");
    }
}

#[test]
fn packets_may_be_optional_or_one_of_several() {
    let written = "+0 write(4, ..., 3000) = 3000\n";
    for (text, expected) in [
        ("+0 > optional . 1:1001(1000) ack 1\n+0 > . 1001:2001(1000) ack 1\n+0 > . 2001:3001(1000) ack 1", ""),
        ("+0 > optional . 1:3001(3000) ack 1", ""),
        (
            "+0 > optional . 5:3001(2996) ack 1",
            "9: a packet left at 0.100000 that the script does not expect, and the script ends",
        ),
        ("+0 > optional . 9:9(0) ack 1\n+0 > . 1:3001(3000) ack 1", ""),
        ("+0 > . 5:6(1) ack 1 or . 1:1001(1000) ack 1\n+0 > . 1001:3001(2000) ack 1", ""),
        (
            "+0 > . 5:6(1) ack 1 or . 6:7(1) ack 1",
            "9: the packet is not as expected: sequence 1:1001(1000) instead of 5:6(1)",
        ),
    ] {
        assert_eq!(outcome(&format!("{written}{text}")), expected, "{text}");
    }
}

#[test]
fn a_time_may_be_a_multiple_of_the_one_before() {
    // Without SACK there is no probe before the timeout.
    let server = SERVER.replace("// needs: sack\n", "").replace(",nop,nop,sackOK", "");
    let script = "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n+.2~+1 > . 1:1001(1000) ack 1\n";
    assert_eq!(said(&run(&format!("{server}{script}+1.9x~+2.1x > . 1:1001(1000) ack 1"))), "");
    let late = said(&run(&format!("{server}{script}+2.9x~+3.1x > . 1:1001(1000) ack 1")));
    assert_eq!(late, "10: the packet is not as expected: 0.270000 s too early");
}

#[test]
fn what_a_guest_lacks_makes_a_script_not_applicable() {
    for (text, expected) in [
        ("+0 %{ print(tcpi_snd_cwnd) }%", "8 n/a: nothing looks into a guest: it has no TCP_INFO"),
        ("+0 `sysctl -w net.ipv4.tcp_sack=0`", "8 n/a: a guest has no commands"),
        ("+0 < [ce] . 1:1(0) ack 1 win 9", "8 n/a: marks of ECN are not given to a guest"),
        ("+0 poll([{fd=4, events=POLLIN, revents=0}], 1, 0) = 0", "8 n/a: `poll` is no call of a guest"),
        ("+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [1], [4]) = 0", "8 n/a: `getsockopt` is no call of a guest"),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0",
            "8 n/a: `TCP_NODELAY`: a guest's options are set before it begins",
        ),
    ] {
        assert_eq!(outcome(text), expected, "{text}");
    }
    let timestamps = SERVER.replace("needs: sack", "needs: sack, timestamps");
    assert_eq!(said(&run(&timestamps)), "5 n/a: its SYN has no option `timestamps`");
    let congestion = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"vegas\", 5) = 0
+0 listen(3, 1) = 0";
    assert!(
        said(&run(congestion)).starts_with("3 n/a: option `congestion`: expected one of"),
        "{}",
        said(&run(congestion))
    );
}

#[test]
fn a_guest_that_fails_fails_the_script() {
    struct Fails(recoup_guest::About, &'static [u8]);
    impl Guest for Fails {
        fn about(&self) -> &recoup_guest::About {
            &self.0
        }
        fn step(
            &mut self,
            _: recoup_units::Instant,
            _: recoup_guest::Input<'_>,
            packets: &mut Vec<Vec<u8>>,
        ) -> Result<recoup_guest::Status, Failed> {
            packets.push(self.1.to_vec());
            if self.1.is_empty() { Err(Failed::new("out of memory")) } else { Ok(Default::default()) }
        }
    }
    let about = || recoup_guest::About {
        name: "x".into(),
        version: "1".into(),
        transport: recoup_guest::Transport::Tcp,
        configuration: String::new(),
        repeatable: true,
    };
    for (packet, expected) in
        [(&b""[..], "the stack failed: out of memory"), (b"rubbish", "the stack sends what is no packet")]
    {
        let script = Script::parse("t.pkt", SERVER).unwrap();
        let mut make = |_: &Setup| Ok(Box::new(Fails(about(), packet)) as Box<dyn Guest>);
        let report = script.run_guest(&mut make, 1).unwrap();
        assert!(said(&report).contains(expected), "{}", said(&report));
    }
}
