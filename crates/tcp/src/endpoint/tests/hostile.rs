//! Any segment at all, in any state: never a panic, never a broken sender, and from outside the
//! window never any harm to an honest stream.

use super::*;
use proptest::prelude::*;

/// A segment of any values, its numbers mostly near those in use.
fn any_segment() -> impl Strategy<Value = Segment> {
    let number = |isn: SeqNumber| {
        prop_oneof![
            4 => (0..3000u32).prop_map(move |at| isn + at),
            1 => (0..3000u32).prop_map(move |at| isn - at),
            1 => any::<u32>().prop_map(SeqNumber),
        ]
    };
    let flags = prop_oneof![
        3 => Just(Flags::ACK),
        1 => Just(Flags::ACK | Flags::FIN),
        1 => Just(Flags::SYN | Flags::ACK),
        2 => any::<u8>().prop_map(Flags::from_bits),
    ];
    let len = prop_oneof![3 => Just(0), 3 => 0..2000u32, 1 => any::<u32>()];
    let fields = (number(PEER_ISN), number(OWN_ISN), flags, len, any::<u16>(), any_options());
    fields.prop_map(|(seq, ack, flags, payload_len, window, options)| Segment {
        seq,
        ack,
        payload_len,
        window,
        flags,
        options,
    })
}

fn any_options() -> impl Strategy<Value = Options> {
    let edge = || (-100..3000i32).prop_map(|at| OWN_ISN + at as u32);
    let blocks = prop::collection::vec((edge(), edge()), 0..=4);
    let clock = || prop_oneof![0..500u32, any::<u32>()];
    let timestamps = prop::option::of((clock(), clock()));
    let syn = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>());
    (blocks, timestamps, syn).prop_map(|(blocks, timestamps, (mss, scale, sack_permitted))| Options {
        timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
        sack: blocks.into_iter().map(|(left, right)| [left, right]).collect(),
        mss,
        window_scale: scale,
        sack_permitted,
    })
}

/// An input of an endpoint.
#[derive(Clone, Debug)]
enum Step {
    Segment(Segment),
    /// The next timer goes off.
    Timer,
    Write(u64),
    Read(u64),
    Close,
    Abort,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any_segment().prop_map(Step::Segment),
        5 => Just(Step::Timer),
        3 => (0..5000u64).prop_map(Step::Write),
        3 => (0..5000u64).prop_map(Step::Read),
        1 => Just(Step::Close),
        1 => prop::bool::weighted(0.1).prop_map(|abort| if abort { Step::Abort } else { Step::Timer }),
    ]
}

fn any_state() -> impl Strategy<Value = State> {
    prop::sample::select(vec![
        State::Listen,
        State::SynSent,
        State::SynReceived,
        State::Established,
        State::FinWait1,
        State::FinWait2,
        State::CloseWait,
        State::Closing,
        State::LastAck,
        State::TimeWait,
        State::Closed(Closed::ByReset),
    ])
}

impl Lone {
    fn take(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Segment(segment) => self.endpoint.on_segment(now, &segment),
            Step::Timer => {
                if let Some((at, timer)) = self.endpoint.next_timer() {
                    self.now = at.max(now);
                    self.endpoint.on_timer(self.now, timer);
                }
            }
            Step::Write(bytes) => self.endpoint.write(now, bytes),
            Step::Read(bytes) => self.endpoint.read(now, bytes),
            Step::Close => self.endpoint.close(now),
            Step::Abort => self.endpoint.abort(),
        }
    }

    /// The invariants of an endpoint, before a step and after.
    fn check(&self, before: (Offset, Offset, Offset)) -> Result<(), TestCaseError> {
        let endpoint = &self.endpoint;
        endpoint.sender().check().map_err(TestCaseError::fail)?;
        let (una, next, edge) = before;
        prop_assert!(endpoint.sender().una() >= una);
        prop_assert!(endpoint.receiver().next() >= next);
        prop_assert!(endpoint.receiver().edge() >= edge);
        prop_assert!(endpoint.sender().una() <= endpoint.sender().nxt());
        prop_assert!(endpoint.receiver().next() <= endpoint.receiver().edge());
        if let State::Closed(_) = self.state() {
            prop_assert_eq!(endpoint.next_timer(), None);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn no_segment_breaks_an_endpoint(
        state in any_state(),
        timestamps: bool,
        steps in prop::collection::vec(any_step(), 1..120),
    ) {
        let mut lone = Lone::in_state(state);
        if matches!(state, State::Listen | State::SynSent) {
            let connects = state == State::SynSent;
            let config = Config { timestamps, receive_buffer: 5000, ..config() };
            lone.endpoint.reset(&config, connects);
            lone.sent();
        }
        for step in &steps {
            let endpoint = &lone.endpoint;
            let before = (endpoint.sender().una(), endpoint.receiver().next(), endpoint.receiver().edge());
            lone.take(step);
            let mut sent = 0;
            let mut segment = Segment::default();
            while lone.endpoint.poll_transmit(lone.now, &mut segment).is_some() {
                sent += 1;
                prop_assert!(sent < 10_000, "{step:?} sets off an endless train");
                prop_assert!(segment.options.sack.len() <= 4);
                prop_assert!(segment.header_len() <= 60);
            }
            lone.check(before)?;
        }
    }

    #[test]
    fn segments_outside_the_window_do_not_harm_a_stream(
        timestamps: bool,
        sack: bool,
        strays in prop::collection::vec((any_segment(), any::<bool>(), 0..30u64, stray_distance()), 1..60),
        bytes in (1..60_000u64, 1..60_000u64),
    ) {
        let config = Config { timestamps, sack, receive_buffer: 20_000, ..config() };
        let mut pair = Pair::open(&config, &config);
        pair.write(Client, bytes.0);
        pair.write(Server, bytes.1);
        pair.close(Client);
        pair.close(Server);
        for (stray, to_server, after, distance) in strays {
            pair.run_until(30 + after * 10);
            let (to, isns) = match to_server {
                true => (Server, [OWN_ISN, PEER_ISN]),
                false => (Client, [PEER_ISN, OWN_ISN]),
            };
            let mut stray = place_outside(stray, pair.end(to), isns[0], distance);
            // Numbers near those in use were drawn for the client.
            stray.ack = isns[1] + stray.ack.since(OWN_ISN);
            let now = pair.now;
            pair.end(to).on_segment(now, &stray);
            for end in &pair.ends {
                end.sender().check().map_err(TestCaseError::fail)?;
            }
        }
        pair.run();
        prop_assert_eq!(pair.read, [bytes.1, bytes.0]);
        prop_assert_eq!(pair.states(), [State::Closed(Closed::Gracefully); 2]);
    }
}

/// How far a stray segment lies outside: negative below what was acknowledged, positive above the
/// window.
fn stray_distance() -> impl Strategy<Value = i64> {
    prop_oneof![-(1i64 << 29)..-1, 1..1i64 << 29, -5000..-1i64, 1..5000i64]
}

/// `segment` moved to lie wholly outside of what `to` may accept.
fn place_outside(segment: Segment, to: &Endpoint, isn: SeqNumber, distance: i64) -> Segment {
    let payload_len = segment.payload_len % 100_000;
    let len = payload_len + 2;
    let seq = if distance > 0 {
        isn.at(to.receiver().edge()) + distance as u32
    } else {
        isn.at(to.last_ack_sent) - len - distance.unsigned_abs() as u32
    };
    Segment { seq, payload_len, ..segment }
}
