use crate::{
    NoteKind, Script, Settings,
    script::{Action, Expression, Time},
};
use proptest::prelude::*;
use std::time::Duration;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn read(text: &str) -> Script {
    Script::parse("t.pkt", text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn times() {
    for (text, time) in [
        ("0.1", Time::At(ms(100))),
        (".25", Time::At(ms(250))),
        ("3", Time::At(ms(3000))),
        ("+0", Time::After(ms(0))),
        ("+ .1", Time::After(ms(100))),
        ("0.1~0.2", Time::Between(ms(100), ms(200))),
        ("+0~+.1", Time::AfterBetween(ms(0), ms(100))),
        ("+1.8x~+2.5x", Time::Multiples(1_800_000, 2_500_000)),
        ("*", Time::Any),
        ("0.000001", Time::At(Duration::from_micros(1))),
    ] {
        let script = read(&format!("{text} `true`"));
        assert_eq!(script.events[0].time, time, "{text}");
    }
}

/// Packets print as they are written, except for white space and optional words.
#[test]
fn packets_are_parsed_completely() {
    for (text, printed) in [
        ("< S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>", None),
        ("> S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>", None),
        ("> P. 1:1001(1000) ack 1 win 5 <...>", None),
        ("< . 1:1(0) ack 1001 win 257 <nop,nop,TS val 5 ecr 6,nop,nop,sack 1:2 3:4>", None),
        ("> FP. 1:5(4) ack 1", Some("> FP. 1:5(4) ack 1")),
        ("< R 1:1(0) win 0", None),
        ("< [ect0] SEW 0:0(0) win 5 urg 3 <eol>", Some("< [ect0] SEW 0:0(0) win 5 <eol>")),
        ("< (tos 0x10) 8080 > 50000 - 5:5(0) win 1", Some("< - 5:5(0) win 1")),
        ("> . 4294967295:9(10) ack 1", None),
    ] {
        let script = read(&format!("0 {text}"));
        let got = match &script.events[0].action {
            Action::Receive(packet) => format!("< {packet}"),
            Action::Send(packet) => format!("> {packet}"),
            other => panic!("{other:?}"),
        };
        assert_eq!(got, printed.unwrap_or(text));
    }
}

#[test]
fn calls_are_parsed_completely() {
    let text = "0...0.5 poll([{fd=4, events=POLLIN|POLLOUT, revents=0}], 1, -1) = -1 EINTR (Interrupted)\n\
                +0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{\"a\" \"b\"..., 3}], msg_flags=0}, 0) = 3\n\
                +0 bind(3, {sa_family = AF_INET, sin_port = htons(80)}, ...) = 0";
    let script = read(text);
    let calls: Vec<_> = script
        .events
        .iter()
        .map(|e| match &e.action {
            Action::Call(call) => call,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(calls[0].until, Some(ms(500)));
    assert_eq!((&calls[0].result, calls[0].error.as_deref()), (&Expression::Integer(-1), Some("EINTR")));
    assert_eq!(calls[0].arguments[2].value, Expression::Integer(-1));
    let Expression::List(descriptors) = &calls[0].arguments[0].value else {
        panic!("{:?}", calls[0]);
    };
    assert_eq!(descriptors[0].field("fd"), Some(&Expression::Integer(4)));
    assert!(calls[1].arguments[1].value.field("msg_iov").is_some());
    assert!(calls[2].arguments[1].value.field("sin_port").is_some());
}

#[test]
fn settings_in_comments_are_applied() {
    let script = read(
        "// profile: linux-3.17+tlp\n// mss : 1000\n# ack: quick\n// a remark: with a colon\n\
         --ip_version=ipv4\n--tolerance_usecs=4000\n/* more\n */ 0 `true` // end\n+0 `true`",
    );
    assert_eq!(script.profile().map(|p| p.name()), Some("linux-3.17+tlp"));
    assert_eq!(script.head.mss, Some(1000));
    assert_eq!(script.head.ack, Some(recoup_tcp::AckPolicy::Quick));
    let notes: Vec<_> = script.notes.iter().map(|n| (n.line, n.text.as_str())).collect();
    let expected = [
        (5, "--ip_version has no effect: packets have no IP header"),
        (6, "--tolerance_usecs has no effect: the tolerance is zero: time is virtual"),
    ];
    assert_eq!(notes, expected);
}

/// Options, commands and comments may precede our settings; events may not.
#[test]
fn settings_may_be_anywhere_before_the_first_event() {
    for before in [
        "--ip_version=ipv4\n",
        "`sysctl -q net.ipv4.tcp_sack=1`\n",
        "`../common/defaults.sh\n../common/more.sh`\n",
        "--ip_version=ipv4 // said\n/* a\nb */\n`true` # said\n\n",
    ] {
        let text = format!("{before}  // profile: linux-6\n# mss: 1000\n// ack: quick\n0 `true`");
        let script = read(&text);
        assert_eq!(script.profile().map(|p| p.name()), Some("linux-6"), "{text}");
        assert_eq!(script.head.mss, Some(1000), "{text}");
        assert_eq!(script.head.ack, Some(recoup_tcp::AckPolicy::Quick), "{text}");
        let wrong = Script::parse("t.pkt", &text.replace("linux-6", "linux-7"));
        assert!(wrong.is_err(), "{text}");
    }
}

/// A comment that looks like a setting but is none has no effect, and gives a note.
#[test]
fn misspelt_settings_give_notes() {
    let (setting, place) = ("would be a setting", "stands on a line of its own before the first event");
    let cases = [
        ("// profil: linux-6\n0 `x`", "1: `profil:` `profile:`", setting),
        ("// profle: of the paper\n0 `x`", "1: `profle:` `profile:`", setting),
        ("// Profile: linux-6\n0 `x`", "1: `Profile:` `profile:`", setting),
        ("`x`\n// profle : linux-6\n0 `x`", "2: `profle:` `profile:`", setting),
        ("// profile = linux-6\n0 `x`", "1: `profile =` `profile:`", setting),
        ("// profile linux-6\n0 `x`", "1: `profile` `profile:`", setting),
        ("# mms: 1000\n0 `x`", "1: `mms:` `mss:`", setting),
        ("// acks: delayed\n0 `x`", "1: `acks:` `ack:`", setting),
        ("0 `x`\n// profile: linux-6\n", "2: `profile:` `profile:`", place),
        ("0 `x` // profile: linux-7", "1: `profile:` `profile:`", place),
        ("--ip_version=ipv4 // mss: 1000\n0 `x`", "1: `mss:` `mss:`", place),
        ("0\n// ack: quick\n`x`", "2: `ack:` `ack:`", place),
    ];
    for (text, what, end) in cases {
        let script = read(text);
        assert_eq!((script.profile(), script.head.mss, script.head.ack), (None, None, None), "{text:?}");
        let mut notes = script.notes.iter();
        let note = notes.find(|n| n.kind == NoteKind::Mistake).expect(text);
        let (written, meant) = what.rsplit_once(' ').expect("two words");
        let got = format!("{}: {}", note.line, note.text);
        let joint = if end == setting { "" } else { "the setting " };
        assert_eq!(got, format!("{written} is taken for a comment; {joint}{meant} {end}"), "{text:?}");
    }
    for remark in [
        "// the profile: linux-6",
        "// sack: on",
        "// pace: of the ACKs",
        "// ack received",
        "// profile of the losses",
        "// MSS = 1000 + options",
        "// :",
        "// é: 5",
    ] {
        for text in [format!("{remark}\n0 `x`"), format!("0 `x`\n{remark}")] {
            assert_eq!(read(&text).notes, [], "{text:?}");
        }
    }
    let prose = read("0 `x`\n// ack: the third one\n// profile: as above");
    assert_eq!(prose.notes, [], "below the first event much begins so");
}

/// Each error has the place, what was found and what was expected.
#[test]
fn errors_have_places_and_expectations() {
    let cases = [
        // times
        (
            "0.1",
            "1:4: expected a packet (`<` in, `>` out), a system call, `commands` or %{ code }%, found the end of the line",
        ),
        ("read(4, ..., 5) = 5", "1:1: expected a time (`+0.1`, `0.100`, `0.1~0.2`, `*`), found `read`"),
        ("+0.1~0.2 `x`", "1:6: expected `+` before the end of a relative range, as in `+0~+0.1`"),
        ("0.2~0.1 `x`", "1:5: a range of times ends before it begins"),
        ("+2x `x`", "1:5: expected `~` and the end of the range, as in `+1.8x~+2.2x`"),
        ("+2x~+3 `x`", "1:8: expected `x` after the end of a range of multiples"),
        ("// rfc: the first\n0 `x`", "1:1: rfc `the first`: expected a number and a section, as in `6298 §5.5`"),
        ("// level: MUTS\n0 `x`", "1:1: unknown level `MUTS`, did you mean `MUST`?"),
        ("// needs: sack, wscal\n0 `x`", "1:1: unknown need `wscal`, did you mean `wscale`?"),
        ("0.1234567 `x`", "1:1: expected seconds with at most six decimals, up to 1000000, found `0.1234567`"),
        (
            "`x` `y`\n0 `z`",
            "1:5: expected a time before this command (`+0`, `0.100`, `*`): only the first and the last need none",
        ),
        // no event
        ("", "1:1: the script has no event, expected at least one, such as `0 socket("),
        ("// profile: linux-6\n--mss=1000\n", "3:1: the script has no event"),
        ("/* 0 `x` */ `x`", "1:16: the script has no event"),
        ("`x`\n`y`\n", "3:1: the script has no event"),
        // packets
        (
            "0 < X 0:0(0) win 5",
            "1:5: unknown flag `X`, expected flags out of S, F, R, P, U, E, W and `.`, or `-` for none",
        ),
        ("0 < . 0:0(0) win 5", "1:5: the flag `.` without `ack`"),
        ("0 < S 0:0(0) ack 1 win 5", "1:5: `ack` without the flag `.`"),
        ("0 < S 0:0(0)", "1:13: expected `win`: an incoming packet must have a window"),
        ("0 < S 0:9(0) win 5", "1:7: 0:9 is 9 bytes, not 0"),
        ("0 < S 0:0 win 5", "1:11: expected `(` after the sequence numbers, found `win`"),
        ("0 < S 0:0(0) win 70000", "1:18: expected a window, a whole number up to 65535, found `70000`"),
        ("0 < S 0:0(0) win 5 <msss 1000>", "1:21: unknown option `msss`, did you mean `mss`?"),
        ("0 < S 0:0(0) win 5 <mss>", "1:24: expected an MSS, found `>`"),
        ("0 < S 0:0(0) win 5 <mss 5 nop>", "1:27: expected `,` or `>` after an option, found `nop`"),
        ("0 < S 0:0(0) win 5 <FO 1234>", "1:21: the option `FO` is not supported"),
        ("0 < S 0:0(0) win 5 <...>", "1:20: an incoming packet must list its options, found `<...>`"),
        ("0 < S 0:0(0) win 5 <TS val 5>", "1:29: expected `ecr` after the timestamp, found `>`"),
        ("0 < icmp unreachable", "1:5: `icmp` packets are not supported: only TCP is supported"),
        ("0 > [ect2] . 1:1(0) ack 1", "1:6: unknown word about the IP header `ect2`"),
        ("0 > F.5 1:1(0) ack 1", "1:6: expected no number after the flags: AccECN is not supported, found `.5`"),
        ("0 < . 1:1(0) ack 1 win 5 <sack 1:2 1:2 1:2 1:2 1:2>", "1:26: 5 SACK blocks: at most 4 fit"),
        // calls
        ("0 acept(3) = 4", "1:3: unknown system call `acept`, did you mean `accept`?"),
        ("0 splice(3) = 4", "1:3: the system call `splice` is not supported"),
        ("0 accept(3, ..., ...\n+0 `x`", "1:21: expected `,` or `)` after an argument, found the end of the line"),
        ("0 accept(3, ..., ...)\n+0 `x`", "1:22: expected `=` after the arguments, found the end of the line"),
        ("0 accept(3) = -1 EAGAINN", "1:18: unknown error `EAGAINN`, did you mean `EAGAIN`?"),
        ("0.5...0.2 accept(3) = 4", "1:7: the call ends before it begins"),
        ("*...0.2 accept(3) = 4", "1:2: a call that blocks must begin at one time"),
        ("0 accept(3) = 4 (a\nb)", "1:17: a remark begins here, expected its `)` on the same line"),
        // head
        ("// profile: linux-3.71", "1:1: unknown profile 'linux-3.71'"),
        ("// mss: 5", "1:1: mss `5`: expected a number from 88 to 65535"),
        ("// ack: fast", "1:1: unknown ack policy `fast`, expected one of: quick, delayed, linux"),
        ("--ip_versin=4", "1:1: unknown option `ip_versin`, did you mean `ip_version`?"),
        ("--tcp_ts_tick_usecs=4", "1:1: --tcp_ts_tick_usecs=4: expected 1000, the clock's tick, or 0: do not compare"),
        // code
        ("0 %{ assert tcpi_cwnd == 1 }%", "1:13: unknown name `tcpi_cwnd`"),
        ("0 %{ x = }%", "1:9: expected a value"),
    ];
    for (text, error) in cases {
        let got = Script::parse("t.pkt", text).expect_err(text).to_string();
        assert!(got.starts_with(&format!("t.pkt:{error}")), "{text:?}\n got {got}\nwant {error}");
        assert!(!got.contains('\n'), "{got}");
    }
}

#[test]
fn nothing_is_deep_enough_to_overflow() {
    for nested in ["[", "{", "f(", "a|[", "{a=["] {
        let text = format!("0 bind({}", nested.repeat(100_000));
        assert!(Script::parse("t.pkt", &text).is_err());
    }
}

/// Words of the language in any order, so that many scripts are nearly valid.
fn nearly_a_script() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "0 ",
        "+0 ",
        "+.1 ",
        "* ",
        "0.1~0.2 ",
        "0...0.3 ",
        "< ",
        "> ",
        "S ",
        "S. ",
        ". ",
        "P. ",
        "F. ",
        "R ",
        "0:0(0) ",
        "1:1(0) ",
        "1:1001(1000) ",
        "ack 1 ",
        "ack 1001 ",
        "win 257 ",
        "<mss 1000,sackOK> ",
        "<nop,nop,sack 1001:2001> ",
        "<...> ",
        "\n",
        "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n",
        "bind(3, ..., ...) = 0\n",
        "listen(3, 1) = 0\n",
        "accept(3, ..., ...) = 4\n",
        "connect(3, ..., ...) = -1 EINPROGRESS\n",
        "write(4, ..., 5000) = 5000\n",
        "read(4, ..., 9) = 0\n",
        "close(4) = 0\n",
        "%{ assert tcpi_unacked == 0 }%\n",
        "`sysctl -q net.ipv4.tcp_sack=0`\n",
        "fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n",
        "poll([{fd=4, events=POLLIN}], 1, 100) = 0\n",
        "(",
        ")",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat())
}

proptest! {
    /// Any text gives an error of one line with an existing place, or a run that ends, and no panic.
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![nearly_a_script(), any::<String>()]) {
        match Script::parse("t.pkt", &text) {
            Ok(script) => drop(script.run(&Settings::default())),
            Err(error) => {
                prop_assert!(error.place.line <= text.split('\n').count(), "{}", error);
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
