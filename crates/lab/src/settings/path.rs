//! The path: delay, rate, queue and recorded links.

use super::descriptor::{Setting, setting};
use super::value::{BOTH, DOWN, EachWay, optional, put};
use super::{Link, SourceFile};
use recoup_path::{LinkTrace, Queue, QueueError};
use recoup_support::input;
use recoup_support::quantity::{format_duration, parse_duration, parse_rate};
use recoup_units::BitRate;
use std::path::Path;

pub(super) const SETTINGS: &[Setting] = &[
    setting!("rtt", "round-trip propagation delay, half of it each way: 80ms", rtt, parse_duration, |rtt| {
        format_duration(*rtt)
    }),
    setting!("rate", "link rate: none, 10Mbit, or up:1Mbit,down:10Mbit", rate, parse_rates, |rate| rate
        .format(|rate| rate.map_or("none".into(), |rate| rate.to_string()))),
    setting!(
        "queue",
        "queue in front of a rate or link: none, 100 (packets), 64kB (64,000 bytes) or 64KiB; in front of a rate also codel or red:5-15 (packets on average); or up:…,down:…",
        queue,
        parse_queues,
        |queue| queue.format(Queue::to_string)
    ),
    Setting {
        key: "link",
        help: "recorded link (mahimahi format, at most 64 MiB) in place of a rate: none, FILE (down), or up:FILE,down:FILE",
        set: |s, text, base| put(&mut s.link, read_links(text, base)),
        get: |s| s.link.format(|link| link.as_ref().map_or("none".into(), |link| link.file.name.clone())),
    },
];

/// The longest link trace that is read, in bytes.
const LONGEST_LINK_TRACE: u64 = 64 << 20;

fn parse_rates(text: &str) -> Result<EachWay<Option<BitRate>>, String> {
    let rate = |text: &str| parse_rate(text).map_err(|why| why + ", or none");
    EachWay::parse(text, None, &BOTH, optional(rate))
}

fn parse_queues(text: &str) -> Result<EachWay<Queue>, String> {
    let queue = |text: &str| text.parse().map_err(|e: QueueError| e.to_string());
    EachWay::parse(text, Queue::Unlimited, &BOTH, queue)
}

fn read_links(text: &str, base: &Path) -> Result<EachWay<Option<Link>>, String> {
    EachWay::parse(text, None, &DOWN, optional(|name| read_link(name, base)))
}

fn read_link(name: &str, base: &Path) -> Result<Link, String> {
    let path = base.join(name);
    let contents = input::read_file(&path, LONGEST_LINK_TRACE)
        .map_err(|e| format!("cannot read the link trace {}: {e}", path.display()))?;
    let trace = LinkTrace::parse(&contents).map_err(|e| format!("{}: {e}", path.display()))?;
    let file = SourceFile { name: name.into(), path };
    Ok(Link { file, trace })
}
