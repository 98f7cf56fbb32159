//! Reads a plan, and says which line is wrong.

use super::{Plan, Timer};
use recoup_kernel::{Network, SocketTimers};
use recoup_support::input;
use recoup_support::quantity::parse_duration;
use recoup_support::suggest::did_you_mean;
use recoup_units::visible;
use std::ops::Range;
use std::path::Path;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// The longest plan, in bytes: 65,536 networks with all timers fit.
const LONGEST: u64 = 16 << 20;

/// Why there is no plan. Each message is one line.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error("cannot read the plan {file}: {why}")]
    Unreadable {
        /// Its name.
        file: String,
        /// The system's error.
        why: String,
    },
    /// A line is wrong.
    #[error("{file}:{line}: {why}")]
    Wrong {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The mistake, and what is expected.
        why: String,
    },
}

/// Reads the plan in a file.
///
/// # Errors
/// A file that cannot be read, and a line that is wrong.
pub fn read(path: &Path) -> Result<Plan, PlanError> {
    let file = visible(&path.to_string_lossy()).into_owned();
    let text = input::read_file(path, LONGEST);
    let text = text.map_err(|why| PlanError::Unreadable { file: file.clone(), why: why.to_string() })?;
    parse(&file, &text)
}

fn parse(file: &str, text: &str) -> Result<Plan, PlanError> {
    let wrong = |span: Range<usize>, why: String| {
        let before = &text.as_bytes()[..span.start.min(text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        PlanError::Wrong { file: file.into(), line, why: visible(&why).into_owned() }
    };
    let end = text.len();
    let table =
        DeTable::parse(text).map_err(|e| wrong(e.span().unwrap_or(end..end), e.message().replace('\n', ", ")))?;
    let mut plan = Plan::new();
    for (name, value) in table.get_ref() {
        let network: Network =
            name.get_ref().parse().map_err(|why| wrong(name.span(), name_error(name.get_ref(), &why)))?;
        let DeValue::Table(timers) = value.get_ref() else {
            return Err(wrong(name.span(), format!("{network}: expected a table of timers: [\"{network}\"]")));
        };
        let timers = read_timers(timers, &wrong)?;
        if plan.insert(network, timers).is_some() {
            return Err(wrong(name.span(), format!("{network} stands twice: expected each network once")));
        }
    }
    match plan.is_empty() {
        true => {
            Err(wrong(0..0, "the plan is empty: expected a network with timers, such as [\"192.0.2.0/24\"]".into()))
        }
        false => Ok(plan),
    }
}

/// A name without quotes is a table in a table: `[192.0.2.0/24]` is no TOML, but `[192]` is.
fn name_error(name: &str, why: &impl ToString) -> String {
    match Timer::ALL.iter().any(|timer| timer.key() == name) {
        true => format!(
            "{name} stands before any network: expected [\"192.0.2.0/24\"] or another network in the line above it"
        ),
        false => why.to_string(),
    }
}

fn read_timers(
    table: &DeTable<'_>,
    wrong: &dyn Fn(Range<usize>, String) -> PlanError,
) -> Result<SocketTimers, PlanError> {
    let mut timers = SocketTimers::default();
    for (key, value) in table {
        let keys = Timer::ALL.map(Timer::key);
        let Some(timer) = Timer::ALL.into_iter().find(|timer| timer.key() == key.get_ref()) else {
            let near = did_you_mean(key.get_ref(), keys);
            let near = if near.is_empty() { format!(": expected one of {}", keys.join(", ")) } else { near };
            return Err(wrong(key.span(), format!("unknown timer `{}`{near}", key.get_ref())));
        };
        let time = match value.get_ref() {
            DeValue::String(text) => parse_duration(text),
            _ => Err("expected a time with its unit in quotes, such as \"120ms\"".into()),
        };
        let time = time.map_err(|why| wrong(value.span(), format!("{}: {why}", timer.key())))?;
        timer.check(time).map_err(|why| wrong(value.span(), why))?;
        timer.set(&mut timers, time);
    }
    Ok(timers)
}

#[cfg(test)]
mod tests {
    use super::super::to_toml;
    use super::*;
    use std::time::Duration;

    const PLAN: &str = "# Ours.\n\n# Office:\n# near\n[\"192.0.2.0/24\"]\nsyn = \"120ms\"\nsyn-ack = \"1s\"\nleast-rto = \"50ms\"\nmost-ack-delay = \"20ms\"\n\n[\"2001:db8::1\"]\n";

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let plan = parse("plan.toml", PLAN).unwrap();
        let ms = |millis| Some(Duration::from_millis(millis));
        let timers = SocketTimers { syn: ms(120), syn_ack: ms(1_000), least_rto: ms(50), most_ack_delay: ms(20) };
        let expected = [("192.0.2.0/24", timers), ("2001:db8::1", SocketTimers::default())];
        assert_eq!(plan, expected.map(|(network, timers)| (network.parse().unwrap(), timers)).into());
        let about = |network: &Network| if network.bits() == 24 { "Office:\nnear".into() } else { String::new() };
        assert_eq!(to_toml(&plan, "Ours.", about), PLAN);
    }

    #[test]
    fn the_smallest_network_of_an_address_counts() {
        let plan = parse("p", "[\"0.0.0.0/0\"]\n[\"192.0.2.0/24\"]\n[\"192.0.2.7\"]\n").unwrap();
        for (address, expected) in [
            ("192.0.2.7", Some("192.0.2.7")),
            ("::ffff:192.0.2.8", Some("192.0.2.0/24")),
            ("198.51.100.1", Some("0.0.0.0/0")),
            ("2001:db8::1", None),
        ] {
            let found = super::super::smallest(&plan, address.parse().unwrap());
            assert_eq!(found.map(|(network, _)| network.to_string()).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn a_wrong_plan_is_refused_in_one_line() {
        for (text, expected) in [
            ("", "p:1: the plan is empty: expected a network with timers, such as [\"192.0.2.0/24\"]"),
            (
                "\n[\"192.0.2.1/24\"]\n",
                "p:2: no network: 192.0.2.1/24: it has bits beyond the first 24: expected 192.0.2.0/24",
            ),
            ("[\"192.0.2.1\"]\nsyn-ak = \"1s\"", "p:2: unknown timer `syn-ak`, did you mean `syn-ack`?"),
            (
                "[\"192.0.2.1\"]\nq = 1",
                "p:2: unknown timer `q`: expected one of syn, syn-ack, least-rto, most-ack-delay",
            ),
            ("[\"192.0.2.1\"]\nsyn = 120", "p:2: syn: expected a time with its unit in quotes, such as \"120ms\""),
            (
                "[\"192.0.2.1\"]\n\nsyn = \"1001ms\"",
                "p:3: syn: 1001ms is longer than the kernel's own 1s: expected a shorter first timeout of a SYN",
            ),
            (
                "[\"192.0.2.1\"]\nleast-rto = \"300ms\"",
                "p:2: least-rto: 300ms is longer than the kernel's own 200ms: expected a shorter least RTO",
            ),
            ("\"192.0.2.1\" = 3", "p:1: 192.0.2.1: expected a table of timers: [\"192.0.2.1\"]"),
            ("[\"192.0.2.1\"]\n[\"192.0.2.1/32\"]", "p:2: 192.0.2.1 stands twice: expected each network once"),
            (
                "syn = \"120ms\"",
                "p:1: syn stands before any network: expected [\"192.0.2.0/24\"] or another network in the line above it",
            ),
        ] {
            assert_eq!(parse("p", text).unwrap_err().to_string(), expected);
        }
        let short = parse("p", "[\"192.0.2.1\"]\nsyn = \"1us\"").unwrap_err().to_string();
        assert!(short.starts_with("p:2: syn: 1us is too short: expected at least "), "{short}");
        assert!(!parse("p", "[\"192.0.2.1\"\nsyn").unwrap_err().to_string().contains('\n'));
    }
}
