//! The bars: time by cause, and by state.

use super::super::facts::Facts;
use super::super::report::{costly, state_title, title};
use crate::wording::{count, duration};
use recoup_draw::page::{Breakdown, Part};
use recoup_trace::finding::{Cause, SenderState};

/// The bars of a capture.
pub(super) fn breakdowns(facts: &Facts) -> Vec<Breakdown> {
    let lost = facts.lost.total();
    let causes = costly(&facts.lost).into_iter().map(|cause| {
        let of = facts.lost.of(cause);
        Part {
            name: title(cause, facts.protocol()).into(),
            amount: of.as_secs_f64(),
            text: duration(of),
            about: count(facts.lost.times(cause).into(), "occurrence"),
            colour: cause_colour(cause),
        }
    });
    let states = SenderState::ALL.into_iter().map(|state| {
        let of = facts.time.of(state);
        Part {
            name: state_title(state).into(),
            amount: of.as_secs_f64(),
            text: duration(of),
            about: String::new(),
            colour: state_colour(state),
        }
    });
    vec![
        Breakdown {
            heading: "Time lost, by cause".into(),
            about: format!("All causes: {}.", duration(lost)),
            parts: causes.collect(),
        },
        Breakdown {
            heading: "Time of the main senders, by state".into(),
            about: format!(
                "The main sender of a connection is the end that sent more data. All connections: {}.",
                duration(facts.connection_time)
            ),
            parts: states.collect(),
        },
    ]
}

/// Another hue of the page's palette, with stripes, dots or both.
const STRIPES: usize = Part::COLOURS;
const DOTS: usize = 2 * Part::COLOURS;
const BOTH: usize = 3 * Part::COLOURS;

/// The hues of the page's palette.
const ORANGE: usize = 0;
const SKY: usize = 1;
const GREEN: usize = 2;
const YELLOW: usize = 3;
const BLUE: usize = 4;
const RED: usize = 5;
const PINK: usize = 6;
const BLACK: usize = 7;

/// The colour of a cause: the same on every page, and of no state but that of the same name.
const fn cause_colour(cause: Cause) -> usize {
    match cause {
        Cause::LostSegment => ORANGE,
        Cause::Burst => RED,
        Cause::TailByProbe => YELLOW,
        Cause::TailByTimeout => BLACK,
        Cause::ZeroWindow => state_colour(SenderState::ZeroWindow),
        Cause::LostSyn => STRIPES + ORANGE,
        Cause::LostSynAck => STRIPES + SKY,
        Cause::LostRetransmission => STRIPES + YELLOW,
        Cause::DelaySpike => STRIPES + BLUE,
        Cause::UnansweredSyn => DOTS + ORANGE,
        Cause::LostSynOrSynAck => DOTS + SKY,
        Cause::LostHandshakePacket => BOTH + ORANGE,
        Cause::Reordering => DOTS + GREEN,
        Cause::IgnoredAck => DOTS + YELLOW,
        Cause::LostAcks => DOTS + BLUE,
        Cause::PathMtu => DOTS + RED,
        Cause::NagleDelayedAck => DOTS + PINK,
        Cause::LossByTimeout => DOTS + BLACK,
        Cause::RefusedFastOpen => BOTH + SKY,
        Cause::LateOrLostAcks => BOTH + BLUE,
        Cause::MtuBlackHole => BOTH + RED,
        Cause::Unanswered => BOTH + BLACK,
        Cause::Unknown => Part::GREY,
    }
}

/// The colour of a state: the same on every page.
const fn state_colour(state: SenderState) -> usize {
    match state {
        SenderState::Application => SKY,
        SenderState::Connecting => GREEN,
        SenderState::Network => BLUE,
        SenderState::ZeroWindow => PINK,
        SenderState::SenderBuffer => STRIPES + GREEN,
        SenderState::Recovering => STRIPES + RED,
        SenderState::ReceiverWindow => STRIPES + PINK,
        SenderState::Closing => STRIPES + BLACK,
        SenderState::Unknown => Part::GREY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::cause_title;
    use std::collections::BTreeMap;

    #[test]
    fn same_things_have_the_same_colour_and_different_ones_differ() {
        let mut named: BTreeMap<usize, &str> = BTreeMap::new();
        let causes = Cause::ALL.map(|cause| (cause_colour(cause), cause_title(cause)));
        let states = SenderState::ALL.map(|state| (state_colour(state), state_title(state)));
        assert_eq!(cause_colour(Cause::ZeroWindow), state_colour(SenderState::ZeroWindow));
        for (colour, name) in causes.into_iter().chain(states) {
            assert!(colour < Part::PAINTS || colour == Part::GREY, "{name}");
            let first = named.entry(colour).or_insert(name);
            assert!(*first == name || colour == Part::GREY || colour == PINK, "{first} and {name}");
        }
    }
}
