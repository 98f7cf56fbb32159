//! Measures whole runs, of this program and of others. Each run has a process of its own, so its
//! peak memory is its own.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Runs per case. The median is reported.
const RUNS: usize = 3;
/// The interval at which another program is observed.
const OBSERVATION_INTERVAL: Duration = Duration::from_millis(5);

/// Cost of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// From beginning to end.
    pub time: Duration,
    /// Processor time of all threads.
    pub cpu: Duration,
    /// Peak memory in kB, as Linux counts it.
    pub peak: u64,
    /// The counts of the run.
    pub counted: Vec<u64>,
}

impl Cost {
    /// Prints the column headings.
    pub fn print_head() {
        println!("{:<26} {:>8} {:>8} {:>8} {:>8} {:>9}", "", "Mpkt/s", "ns/pkt", "s", "CPU s", "peak MB");
    }

    /// How many times as much processor time `other` takes.
    pub fn ratio(&self, other: &Self) -> f64 {
        other.cpu.as_secs_f64() / self.cpu.as_secs_f64()
    }

    /// Prints a row.
    pub fn print(&self, name: &str, packets: u64) {
        let (seconds, packets) = (self.time.as_secs_f64(), packets as f64);
        println!(
            "{name:<26} {:>8.2} {:>8.1} {:>8.2} {:>8.2} {:>9.1}",
            packets / seconds / 1e6,
            seconds * 1e9 / packets,
            seconds,
            self.cpu.as_secs_f64(),
            self.peak as f64 / 1e3
        );
    }
}

/// The median of several runs of `case` of this program, see [`report`].
pub fn own(case: &str, capture: &Path) -> Cost {
    median(|| once(case, capture))
}

/// One run of `case` of this program, see [`report`].
pub fn once(case: &str, capture: &Path) -> Cost {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(&program);
    command.args(["case", case]).arg(capture);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.expect("this program again");
    assert!(output.status.success(), "{case}: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("numbers");
    let mut numbers = text.split_whitespace().map(|n| n.parse().expect("numbers"));
    Cost {
        time: Duration::from_nanos(numbers.next().expect("a time")),
        cpu: Duration::from_nanos(numbers.next().expect("a time")),
        peak: numbers.next().expect("a peak"),
        counted: numbers.collect(),
    }
}

/// Runs a case in the process that [`own`] started, and prints its cost for that.
pub fn report(run: impl FnOnce() -> Vec<u64>) {
    let begun = Instant::now();
    let counted = run();
    let time = begun.elapsed().as_nanos();
    let cpu = cpu("self").unwrap_or_default().as_nanos();
    let peak = peak("self").unwrap_or_default();
    let counted: Vec<_> = counted.iter().map(u64::to_string).collect();
    println!("{time} {cpu} {peak} {}", counted.join(" "));
}

/// One run of another program; `None` if it is not installed or fails.
pub fn other(program: &str, arguments: &[&str], capture: &Path) -> Option<Cost> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).arg(capture);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn().ok()?;
    let id = child.id().to_string();
    let mut cost = Cost::default();
    let status = loop {
        // The value is gone once the process has ended.
        cost.peak = peak(&id).unwrap_or(cost.peak);
        cost.cpu = cpu(&id).unwrap_or(cost.cpu);
        match child.try_wait().ok()? {
            Some(status) => break status,
            None => std::thread::sleep(OBSERVATION_INTERVAL),
        }
    };
    cost.time = begun.elapsed();
    status.success().then_some(cost)
}

/// The processor time of this thread so far.
pub fn thread_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = text.split_whitespace().next().expect("a time");
    Duration::from_nanos(nanos.parse().expect("a time"))
}

fn median(run: impl FnMut() -> Cost) -> Cost {
    let mut runs: Vec<_> = std::iter::repeat_with(run).take(RUNS).collect();
    runs.sort_unstable();
    runs.swap_remove(RUNS / 2)
}

/// The peak memory of a process, in kB; `None` if Linux does not report it.
fn peak(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// The processor time of a process, including the kernel's; `None` if Linux does not report it.
fn cpu(process: &str) -> Option<Duration> {
    /// USER_HZ is 100 on every common machine.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything. After it come the state, which is field 3 of
    // proc(5), and the times, fields 14 and 15.
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    let ticks: Option<Vec<u32>> = fields.skip(11).take(2).map(|n| n.parse().ok()).collect();
    Some(TICK * ticks?.iter().sum())
}
