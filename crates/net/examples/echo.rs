//! An echo server on a stack of its own: `cargo run -p recoup-net --example echo -- [ADDRESS] [--queues N]`, as root on Linux.
//! With several queues there are as many stacks, which as many processors run.

#[cfg(target_os = "linux")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use recoup_net::{AsyncDevice, TunDevice, TunOptions};
    use recoup_stack::{Config, Stack, TcpListener};

    let (mut address, mut count) = (None, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--queues" => count = arguments.next().ok_or("--queues: expected a number after it")?.parse()?,
            _ => {
                address = Some(argument.parse().map_err(|_| format!("{argument}: expected an address, or --queues N"))?)
            }
        }
    }
    let queues = TunDevice::open_queues(&TunOptions { address, ..TunOptions::default() }, count)?;
    let address = queues[0].host_addresses()[0];
    let devices = queues.into_iter().map(AsyncDevice::new).collect::<Result<Vec<_>, _>>()?;
    let mut servers = Vec::new();
    for stack in Stack::group(devices, &Config::new([address]))? {
        let listener = TcpListener::bind(&stack, (address, 7).into())?;
        servers.push(tokio::spawn(serve(listener)));
    }
    println!("echoes what comes to {address}:7");
    for server in servers {
        server.await??;
    }
    Ok(())
}

/// Echoes what comes to one stack.
#[cfg(target_os = "linux")]
async fn serve(listener: recoup_stack::TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut reader, mut writer) = stream.split();
            tokio::io::copy(&mut reader, &mut writer).await
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
