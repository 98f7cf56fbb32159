//! What a plan sets, in words and in the kernel's units.

use crate::plan::{Plan, Timer};
use crate::schedule::{Retries, repeats};
use recoup_captures::wording::{count, duration};
use recoup_kernel::{Network, SocketTimers, TimerCounts, jiffy, ticks};
use recoup_support::quantity::format_duration;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Times at which a packet is sent again that a text names.
const MOST_TIMES: usize = 7;

/// What would be set.
pub fn dry_run(plan: &Plan, retries: Retries, cgroup: Option<&Path>) -> String {
    let mut text = String::new();
    for (network, timers) in plan {
        text += &one_network(network, timers, retries);
    }
    let cgroup = cgroup.map_or("DIR".into(), |cgroup| cgroup.display().to_string());
    text + &format!(
        "Nothing was set. With --cgroup {cgroup} --act, connections that begin later get these timers, as long as the command runs. \
         Sockets that were opened before get none.\n"
    )
}

fn one_network(network: &Network, timers: &SocketTimers, retries: Retries) -> String {
    let mut text = format!("{network}\n");
    for timer in Timer::ALL {
        let about = timer.about();
        match timer.of(timers) {
            Some(time) => {
                let (set, units) = in_kernel_units(time);
                _ = writeln!(text, "  {about}: {units}, instead of {}", format_duration(timer.usual()));
                text += &schedule(timer, set, retries);
            }
            None => _ = writeln!(text, "  {about}: the kernel's own"),
        }
    }
    text + "\n"
}

/// When packets are sent again, and connections given up.
fn schedule(timer: Timer, first: Duration, retries: Retries) -> String {
    let times = |linear| {
        let at: Vec<String> = repeats(first, linear).take(MOST_TIMES).map(|at| at.as_millis().to_string()).collect();
        format!("sent at 0, {}, … ms while nothing answers", at.join(", "))
    };
    match timer {
        Timer::Syn => {
            let [usual, now] = retries.connect_times(first);
            let (usual, now) = (duration(usual), duration(now));
            let linear = match retries.syn_linear {
                0 => String::new(),
                n => format!(
                    " The first {} keep the timeout (net.ipv4.tcp_syn_linear_timeouts={n}); RFC 8961 §4 (4) asks for 0 there.",
                    u16::from(n) + 1
                ),
            };
            format!("    {}; connect() gives up after {now}, today {usual}.{linear}\n", times(retries.syn_linear))
        }
        Timer::SynAck => format!("    {}; only by listeners that are started after the command.\n", times(0)),
        Timer::LeastRto | Timer::MostAckDelay => String::new(),
    }
}

/// What the kernel sets, and how it counts.
fn in_kernel_units(time: Duration) -> (Duration, String) {
    let ticks = ticks(time);
    let tick = jiffy();
    let set = tick.saturating_mul(ticks);
    (set, format!("{} ({ticks} ticks of {})", format_duration(set), format_duration(tick)))
}

/// So many networks.
pub fn networks(networks: usize) -> String {
    count(networks as u64, "network")
}

/// What was done.
pub fn counts(counts: &TimerCounts, stayed: Duration) -> String {
    let mut text = format!(
        "In {}: {} opened and {} accepted with networks of the plan; {} and {} set.\n",
        duration(stayed),
        count(counts.active, "connection"),
        counts.passive,
        count(counts.syn, "SYN timer"),
        count(counts.syn_ack, "SYN-ACK timer"),
    );
    _ = writeln!(text, "{} will repeat SYN-ACKs more often.", count(counts.listeners, "listener"));
    if counts.refused > 0 {
        _ = writeln!(
            text,
            "The kernel refused {}.",
            count(counts.refused, "option of a socket").replace("socketss", "sockets")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_says_what_the_kernel_would_do() {
        let ms = |millis| Some(Duration::from_millis(millis));
        let timers = SocketTimers { syn: ms(120), syn_ack: ms(120), ..SocketTimers::default() };
        let plan = Plan::from([("192.0.2.0/24".parse().unwrap(), timers)]);
        let text = dry_run(&plan, Retries { syn_linear: 4, syn: 6 }, None);
        // 120 ms are whole ticks with HZ=100, 250 and 1000.
        for expected in [
            "192.0.2.0/24\n",
            "first timeout of a SYN: 120ms (",
            "sent at 0, 120, 240, 360, 480, 600, 840, 1320, … ms",
            "sent at 0, 120, 360, 840, 1800, 3720, 7560, 15240, … ms",
            "today 131 s.",
            "least RTO: the kernel's own",
            "Nothing was set.",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
