//! What a guest is given and what it answers crosses the pipe unchanged. The children are this test itself.
#![cfg(unix)]

use proptest::prelude::*;
use recoup_guest::{About, Child, Ended, Failed, Guest, Input, Setup, Status, Transport, serve};
use recoup_units::Instant;
use std::{collections::BTreeMap, process::Command};

/// A guest whose answers are a hash of what it is given.
struct Mirror(About);

impl Mirror {
    fn new() -> Self {
        Self(About {
            name: "mirror".into(),
            version: "1".into(),
            transport: Transport::Tcp,
            configuration: "none".into(),
            repeatable: false,
        })
    }
}

impl Guest for Mirror {
    fn about(&self) -> &About {
        &self.0
    }

    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        let bytes = match input {
            Input::Packet(packet) => {
                packets.push(packet.to_vec());
                packets.push(packet.iter().rev().copied().collect());
                packet.len() as u64
            }
            Input::Write(bytes) | Input::Read(bytes) => bytes,
            Input::Reset => return Err(Failed::new("reset\nin two lines")),
            Input::Connect | Input::Listen | Input::Close | Input::Wake => 0,
        };
        Ok(Status {
            wake: (bytes % 2 == 0).then_some(now),
            open: input == Input::Connect,
            readable: bytes,
            writable: u64::MAX - bytes,
            finished: input == Input::Close,
            ended: (input == Input::Wake).then_some(Ended::TimedOut),
            taken: bytes / 2,
        })
    }
}

fn setup() -> Setup {
    Setup {
        seed: u64::MAX,
        mtu: 1500,
        local: "[2001:db8::1]:5001".parse().unwrap(),
        peer: "[2001:db8::2]:80".parse().unwrap(),
        options: BTreeMap::from([("congestion".into(), "reno".into())]),
    }
}

/// The child: without the variable this tests nothing.
#[test]
fn child() {
    if std::env::var_os("RECOUP_GUEST_CHILD").is_some() {
        let make =
            |given: &Setup| if *given == setup() { Ok(Box::new(Mirror::new())) } else { Err(Failed::new("setup")) };
        // The harness has printed the test's name: the answers begin on a line of their own.
        println!();
        let _ = serve(make, std::io::stdin().lock(), std::io::stdout());
        std::process::exit(0);
    }
}

fn start() -> Child {
    // The harness prints before the child answers.
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    let script = format!("'{}' --exact child --nocapture | sed -un '/^{{/p'", program.display());
    command.args(["-c", &script]).env("RECOUP_GUEST_CHILD", "1");
    Child::start(command, &setup()).unwrap()
}

fn input() -> impl Strategy<Value = (u64, u8, u64, Vec<u8>)> {
    (any::<u64>(), 0..8_u8, any::<u64>(), prop::collection::vec(any::<u8>(), 0..1600))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_child_answers_as_the_guest_in_it(inputs in prop::collection::vec(input(), 1..20)) {
        let (mut far, mut near) = (start(), Mirror::new());
        prop_assert_eq!(far.about(), near.about());
        for (now, kind, bytes, packet) in &inputs {
            let input = match kind {
                0 => Input::Connect,
                1 => Input::Listen,
                2 => Input::Packet(packet),
                3 => Input::Write(*bytes),
                4 => Input::Read(*bytes),
                5 => Input::Close,
                6 => Input::Wake,
                _ => continue,
            };
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            let now = Instant::from_nanos(*now);
            prop_assert_eq!(far.step(now, input, &mut theirs), near.step(now, input, &mut ours));
            prop_assert_eq!(theirs, ours);
        }
    }
}

#[test]
fn a_guest_that_fails_says_why_in_one_line() {
    let error = start().step(Instant::ZERO, Input::Reset, &mut Vec::new()).unwrap_err().0;
    assert_eq!(error, "`sh`: reset in two lines");
}

#[test]
fn misspelt_fields_are_named_with_what_was_meant() {
    let about = r#"{"name": "x", "version": "1", "transport": "tcp"}"#;
    for (answers, expected) in [
        (
            vec![r#"{"name": "x", "version": "1", "transprt": "tcp"}"#],
            "unknown field `transprt`; did you mean `transport`?",
        ),
        (vec![r#"{"name": "x", "version": "1"}"#], "missing field `transport`"),
        (vec![r#"{"name": "x", "version": "1", "transport": "udp"}"#], "unknown variant `udp`"),
        (vec![about, r#"{"packtes": []}"#], "unknown field `packtes`; did you mean `packets`?"),
        (vec![about, r#"{"packets": ["%"]}"#], "a packet: expected Base64"),
        (vec![about, r#"{"wake": -1}"#], "invalid value: integer `-1`"),
    ] {
        let script: Vec<String> = answers.iter().map(|answer| format!("read line; echo '{answer}'")).collect();
        let mut command = Command::new("sh");
        command.args(["-c", &script.join("; ")]);
        let step = |mut child: Child| child.step(Instant::ZERO, Input::Wake, &mut Vec::new());
        let error = Child::start(command, &setup()).and_then(step).unwrap_err().0;
        assert!(error.contains(expected), "{error}");
    }
}
