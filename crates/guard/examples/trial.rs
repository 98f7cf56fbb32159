//! Measures `recoup guard copies` before real clients: nginx of this machine behind an emulated path, and curl.
//!
//! `cargo build --release -p recoup-guard && cargo run --release -p recoup-guard --example trial -- [OPTIONS]`
//!
//! Needs root, nginx and curl. A round makes a network namespace with nginx, a path, and curl at its other end, which fetches a file
//! again and again, each time over a new connection, several at a time. Half of the connections are left alone. It prints a line
//! for each statistic of the flow completion time: helped, left alone, and the difference with its interval.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use clap::Parser;
    use recoup_guard::compare::{Times, is_control};
    use recoup_net::{Namespace, Relay, Wire};
    use recoup_path::{HopSpec, LossSpec, Queue};
    use recoup_support::quantity::parse_duration;
    use recoup_units::{BitRate, Ppm};
    use recoup_wire::Endpoints;
    use std::error::Error;
    use std::net::{IpAddr, SocketAddr};
    use std::os::fd::AsFd;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, ExitCode, Stdio};
    use std::time::Duration;
    use std::{fs, thread};

    const CONTROL: Ppm = Ppm::percent(50);
    const PORT: u16 = 80;

    /// Measure `recoup guard copies` before nginx and curl
    #[derive(Clone, Debug, Parser)]
    struct Args {
        /// Round-trip propagation delay
        #[arg(long, default_value = "80ms", value_parser = parse_duration)]
        rtt: Duration,
        /// Losses each way, as in `recoup emulate --drop`: bernoulli:1%
        #[arg(long, default_value = "bernoulli:3%")]
        loss: LossSpec,
        /// Bytes of the file
        #[arg(long, default_value_t = 14_000)]
        bytes: usize,
        /// Connections of a round
        #[arg(long, default_value_t = 400)]
        connections: usize,
        /// Connections at a time
        #[arg(long, default_value_t = 20)]
        parallel: usize,
        /// Rounds, each with its own seed
        #[arg(long, default_value_t = 1)]
        rounds: u64,
        /// The seed of the first round
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Congestion control of the kernel
        #[arg(long, default_value = "cubic")]
        congestion: String,
        /// A bottleneck towards the clients, in bit/s, with this queue in packets behind it
        #[arg(long, num_args = 2, value_names = ["BITS", "PACKETS"])]
        bottleneck: Option<Vec<u64>>,
        /// Also one transfer for this many seconds, from another port, that nobody guards: its goodput is printed. Let the
        /// connections last as long
        #[arg(long, value_name = "SECONDS")]
        competitor: Option<u32>,
        /// What the guard sends: nothing in a dry run
        #[arg(long)]
        dry_run: bool,
        /// The program recoup-guard [default: beside this one]
        #[arg(long)]
        program: Option<PathBuf>,
        /// More options of `recoup guard copies`
        #[arg(last = true)]
        options: Vec<String>,
    }

    /// Ends with its owner.
    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            _ = self.0.kill();
            _ = self.0.wait();
        }
    }

    pub fn main() -> ExitCode {
        match measure(&Args::parse()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                println!("trial: {why}");
                ExitCode::from(2)
            }
        }
    }

    fn measure(args: &Args) -> Result<(), Box<dyn Error>> {
        let beside = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("recoup-guard"));
        let program = args.program.clone().or(beside).filter(|program| program.is_file());
        let program =
            program.ok_or("no program recoup-guard: build it with `cargo build --release -p recoup-guard`")?;
        let mut times = Times::default();
        let (mut failed, mut goodput) = (0, Vec::new());
        let mut said = String::new();
        for round in 0..args.rounds {
            let (args, program) = (args.clone(), program.clone());
            let seed = args.seed + round;
            let result =
                Namespace::new()?.run(move || one_round(&args, &program, seed).map_err(|why| why.to_string()))??;
            times.helped.extend(result.times.helped);
            times.control.extend(result.times.control);
            failed += result.failed;
            goodput.extend(result.goodput);
            said = result.said;
        }
        print!("{said}");
        if failed > 0 {
            println!("{failed} connections failed");
        }
        for one in times.differences(args.seed) {
            let interval =
                one.interval.map_or(["nan".into(), "nan".into()], |i| [i.low, i.high].map(|end| format!("{end:.1}")));
            println!(
                "{}\t{}\t{}\t{}\t{}\t{:.1}\t{:.1}\t{:.1}\t{}\t{}\t{}\t{}",
                args.congestion,
                args.rtt.as_millis(),
                args.loss,
                args.bytes,
                one.statistic.name(),
                one.helped,
                one.control,
                one.helped - one.control,
                interval[0],
                interval[1],
                times.helped.len(),
                times.control.len()
            );
        }
        if !goodput.is_empty() {
            let mean = goodput.iter().sum::<f64>() / goodput.len() as f64;
            let all: Vec<String> = goodput.iter().map(|rate| format!("{rate:.3}")).collect();
            println!("competitor\t{mean:.3} Mbit/s\t{}", all.join(" "));
        }
        Ok(())
    }

    #[derive(Default)]
    struct Round {
        times: Times,
        failed: usize,
        goodput: Option<f64>,
        said: String,
    }

    fn one_round(args: &Args, program: &Path, seed: u64) -> Result<Round, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &args.congestion)?;
        fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")?;
        let hops = |is_down: bool| {
            let mut hops = Vec::new();
            if let (true, Some([bits, packets])) = (is_down, args.bottleneck.as_deref()) {
                let rate = BitRate::from_bits_per_second(*bits).ok_or("no rate")?;
                hops.push(HopSpec::Rate { rate, queue: Queue::Packets(u32::try_from(*packets)?) });
            }
            hops.push(HopSpec::Loss(args.loss));
            hops.push(HopSpec::Delay(args.rtt / 2));
            Ok::<_, Box<dyn Error>>(hops)
        };
        let relay = Relay::new(&hops(false)?, &hops(true)?, seed, 1500)?;
        let wire = Wire::open(1500)?;
        let server = wire.block().ends_v4().outside;
        let _nginx = serve(folder.path(), args.bytes)?;
        let summary = folder.path().join("summary.json");
        let device = format!("recoup{}o", std::process::id());
        let mut guard = Command::new(program);
        guard
            .args(["copies", &device, "--allow", "src port 80", "--key", &seed.to_string(), "--summary"])
            .arg(&summary);
        // All clients have one address here.
        guard.args(["--destination-limit", "1000"]);
        if !args.dry_run {
            guard.arg("--act");
        }
        let said = folder.path().join("said");
        guard.args(&args.options).stdout(Stdio::null()).stderr(fs::File::create(&said)?);
        let mut guard = Running(guard.spawn()?);
        // It says what it guards once it does.
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(50));
            if fs::read_to_string(&said)?.contains("Ctrl-C") {
                break;
            }
        }
        let done = folder.path().join("done");
        let mut curl = Command::new("bash");
        let script = "\
            if [ -n \"$COMPETITOR\" ]; then curl -s -o /dev/null --max-time $COMPETITOR -w '%{size_download} %{time_total}\\n' http://$SERVER:81/endless > competitor & fi
            curl -s -S --no-progress-meter --http1.0 --parallel --parallel-immediate --parallel-max $PARALLEL --max-time 120 -o /dev/null -w '%{local_port} %{time_total} %{size_download}\\n' \"http://$SERVER/file?[1-$CONNECTIONS]\" > done
            wait";
        curl.args(["-c", script]).current_dir(folder.path()).env("SERVER", server.to_string());
        curl.env("PARALLEL", args.parallel.to_string()).env("CONNECTIONS", args.connections.to_string());
        if let Some(seconds) = args.competitor {
            curl.env("COMPETITOR", seconds.to_string());
        }
        let mut clients = wire.run(curl)?;
        relay.run(wire.ends(), clients.as_fd())?;
        clients.wait()?;
        thread::sleep(Duration::from_millis(300));
        Command::new("kill").args(["-INT", &guard.0.id().to_string()]).status()?;
        guard.0.wait()?;
        let mut round = Round { said: fs::read_to_string(&said)?, ..Round::default() };
        let inside: IpAddr = wire.block().ends_v4().inside.into();
        for line in fs::read_to_string(done)?.lines() {
            let [port, time, size] = line.split(' ').collect::<Vec<_>>()[..] else { return Err(line.into()) };
            if size.parse() != Ok(args.bytes) {
                round.failed += 1;
                continue;
            }
            let ends =
                Endpoints { src: SocketAddr::new(server.into(), PORT), dst: SocketAddr::new(inside, port.parse()?) };
            round.times.add(Duration::from_secs_f64(time.parse()?), is_control(&ends, seed, CONTROL));
        }
        if args.competitor.is_some() {
            round.goodput = competitor(folder.path());
        }
        Ok(round)
    }

    /// The goodput of the transfer without end, in Mbit/s.
    fn competitor(folder: &Path) -> Option<f64> {
        let text = fs::read_to_string(folder.join("competitor")).ok()?;
        let (bytes, time) = text.trim().split_once(' ')?;
        Some(bytes.parse::<f64>().ok()? * 8.0 / time.parse::<f64>().ok()? / 1e6)
    }

    /// Starts nginx in the calling thread's namespace.
    fn serve(folder: &Path, bytes: usize) -> Result<Running, Box<dyn Error>> {
        let root = folder.join("files");
        fs::create_dir(&root)?;
        fs::write(root.join("file"), vec![b'x'; bytes])?;
        // A hole: its bytes are zeros, and take no space.
        fs::File::create(root.join("endless"))?.set_len(1 << 36)?;
        let name = folder.display();
        let text = format!(
            "daemon off; master_process off; pid {name}/pid; error_log {name}/errors;
            events {{ worker_connections 4096; }}
            http {{
                access_log off; sendfile on; tcp_nopush on;
                client_body_temp_path {name}/a; proxy_temp_path {name}/b; fastcgi_temp_path {name}/c;
                uwsgi_temp_path {name}/d; scgi_temp_path {name}/e;
                server {{ listen {PORT}; listen 81; root {name}/files; }}
            }}"
        );
        fs::write(folder.join("nginx.conf"), text)?;
        // Its worker is another user, who has to find the files.
        Command::new("chmod").args(["-R", "a+rX"]).arg(folder).status()?;
        let mut nginx = Command::new("nginx");
        nginx.args(["-c", &format!("{name}/nginx.conf"), "-e", &format!("{name}/errors")]);
        let nginx = Running(nginx.stdout(Stdio::null()).spawn().map_err(|why| format!("nginx: {why}"))?);
        thread::sleep(Duration::from_millis(300));
        Ok(nginx)
    }
}
