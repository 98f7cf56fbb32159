//! Measures what a second processor is worth to a group of stacks: requests of 100 bytes, which are echoed, from clients of the
//! kernel to one stack, and to two over the queues of one TUN device.
//!
//! `cargo run --release -p recoup-net --example queues -- [SECONDS] [ROUNDS]`, as root.
//!
//! The first stack runs on one processor, the second on another, and so do the clients. Which queue a connection has is a hash's
//! choice. Clients "beside their stack" keep only the connections whose stack has their processor; those "of both stacks" keep
//! all. The rounds of the cases alternate, so that they meet the same load.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use recoup_net::{AsyncDevice, Namespace, TunDevice, TunOptions};
    use recoup_stack::{Config, Runner, Stack, TcpListener, tokio::run};
    use rustix::{
        thread::{CpuSet, sched_setaffinity},
        time::{ClockId, clock_gettime},
    };
    use std::{
        error::Error,
        future::Future,
        io,
        net::SocketAddr,
        sync::{
            Arc,
            atomic::{AtomicBool, AtomicU64, Ordering},
        },
        thread::{self, JoinHandle},
        time::{Duration, Instant},
    };
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        runtime::{Builder, Runtime},
    };

    type Failure = Box<dyn Error + Send + Sync>;

    /// Connections of the clients of one processor.
    const CONNECTIONS: usize = 100;

    /// Bytes of a request.
    const LENGTH: usize = 100;

    fn argument(place: usize, default: u64) -> u64 {
        let given = std::env::args().nth(place);
        given.and_then(|text| text.parse().ok()).unwrap_or(default).max(1)
    }

    pub fn main() -> Result<(), Failure> {
        let time = Duration::from_secs(argument(1, 3));
        let rounds = argument(2, 5);
        let cases = [
            Case { stacks: 1, beside: true, name: "1" },
            Case { stacks: 2, beside: true, name: "2, clients beside their stack" },
            Case { stacks: 2, beside: false, name: "2, clients of both stacks" },
        ];
        let mut results = cases.map(|case| (case, Vec::new()));
        for _ in 0..rounds {
            for (case, results) in &mut results {
                let case = *case;
                results.push(Namespace::new()?.run(move || round(case, time)).map_err(|_| "a round failed")??);
            }
        }
        println!("{:<30} {:>10} {:>33}", "processors", "requests/s", "requests per s of processor time");
        for (case, results) in &mut results {
            let middle = |of: fn(&Rate) -> f64| {
                let mut values: Vec<f64> = results.iter().map(of).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            println!("{:<30} {:>10.0} {:>33.0}", case.name, middle(|r| r.each_second), middle(|r| r.each_cpu_second));
        }
        Ok(())
    }

    #[derive(Clone, Copy)]
    struct Case {
        stacks: usize,
        beside: bool,
        name: &'static str,
    }

    struct Rate {
        each_second: f64,
        each_cpu_second: f64,
    }

    fn runtime() -> io::Result<Runtime> {
        Builder::new_current_thread().enable_all().build()
    }

    /// Runs a task in a thread on one processor.
    fn on(
        processor: usize,
        runtime: Runtime,
        task: impl Future<Output = Result<(), Failure>> + Send + 'static,
    ) -> io::Result<JoinHandle<Result<(), Failure>>> {
        thread::Builder::new().spawn(move || {
            let mut set = CpuSet::new();
            set.set(processor);
            sched_setaffinity(None, &set)?;
            runtime.block_on(task)
        })
    }

    /// Processor time of this process.
    fn used() -> Duration {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    /// What the threads of a round share.
    #[derive(Default)]
    struct Shared {
        requests: AtomicU64,
        stop: AtomicBool,
    }

    impl Shared {
        async fn stopped(&self) {
            while !self.stop.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// Says on which processor it is, and echoes what comes to one stack.
    async fn serve(
        processor: u8,
        stack: Stack,
        runner: Runner<AsyncDevice<TunDevice>>,
        at: SocketAddr,
        shared: Arc<Shared>,
    ) -> Result<(), Failure> {
        tokio::spawn(run(runner));
        let listener = TcpListener::bind(&stack, at)?;
        let echo = async {
            loop {
                let (mut stream, _) = listener.accept().await?;
                tokio::spawn(async move {
                    if stream.write_all(&[processor]).await.is_err() {
                        return;
                    }
                    let mut bytes = [0; LENGTH];
                    while stream.read_exact(&mut bytes).await.is_ok() && stream.write_all(&bytes).await.is_ok() {}
                });
            }
        };
        tokio::select! {
            failed = echo => failed,
            () = shared.stopped() => Ok(()),
        }
    }

    /// Asks, over many connections: those of the stack of one processor, if there is one.
    async fn ask(processor: Option<u8>, at: SocketAddr, shared: Arc<Shared>) -> Result<(), Failure> {
        let mut connections = 0;
        while connections < CONNECTIONS {
            let (mut stream, shared) = (connect(at).await?, Arc::clone(&shared));
            let theirs = stream.read_u8().await?;
            if processor.is_some_and(|ours| ours != theirs) {
                continue;
            }
            connections += 1;
            stream.set_nodelay(true)?;
            tokio::spawn(async move {
                let mut bytes = [0; LENGTH];
                while stream.write_all(&bytes).await.is_ok() && stream.read_exact(&mut bytes).await.is_ok() {
                    shared.requests.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        shared.stopped().await;
        Ok(())
    }

    /// The server may not listen yet.
    async fn connect(at: SocketAddr) -> io::Result<tokio::net::TcpStream> {
        let mut tries = 0;
        loop {
            match tokio::net::TcpStream::connect(at).await {
                Err(_) if tries < 50 => tries += 1,
                connected => return connected,
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Measures one case for some time.
    fn round(case: Case, time: Duration) -> Result<Rate, Failure> {
        let devices = TunDevice::open_queues(&TunOptions::default(), case.stacks)?;
        let at = SocketAddr::new(devices[0].host_addresses()[0], 7);
        let runtimes = devices.iter().map(|_| runtime()).collect::<io::Result<Vec<_>>>()?;
        let register = |(device, runtime): (TunDevice, &Runtime)| {
            let _entered = runtime.enter();
            AsyncDevice::new(device)
        };
        let devices = devices.into_iter().zip(&runtimes).map(register).collect::<io::Result<Vec<_>>>()?;
        let shared = Arc::new(Shared::default());
        let mut threads = Vec::new();
        let group = Stack::group_with_runners(devices, &Config::new([at.ip()]))?;
        for (processor, ((stack, runner), of_stack)) in group.into_iter().zip(runtimes).enumerate() {
            let number = processor as u8;
            threads.push(on(processor, of_stack, serve(number, stack, runner, at, Arc::clone(&shared)))?);
            let beside = case.beside.then_some(number);
            threads.push(on(processor, runtime()?, ask(beside, at, Arc::clone(&shared)))?);
        }
        thread::sleep(Duration::from_millis(500));
        let (before, began, used_before) = (shared.requests.load(Ordering::Relaxed), Instant::now(), used());
        thread::sleep(time);
        let count = (shared.requests.load(Ordering::Relaxed) - before) as f64;
        let rate = Rate {
            each_second: count / began.elapsed().as_secs_f64(),
            each_cpu_second: count / (used() - used_before).as_secs_f64(),
        };
        shared.stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a thread failed")??;
        }
        Ok(rate)
    }
}
