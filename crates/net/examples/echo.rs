//! An echo server on a stack of its own: `cargo run -p recoup-net --example echo [-- --queues N]`, as root on Linux. With several
//! queues there are as many stacks, which as many processors run.

#[cfg(target_os = "linux")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use recoup_net::{AsyncDevice, TunDevice, TunOptions};
    use recoup_stack::{Config, Stack, TcpListener};

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = match &arguments[..] {
        [] => 1,
        [option, count] if option == "--queues" => count.parse()?,
        _ => return Err("expected no argument, or --queues and a number".into()),
    };
    let queues = TunDevice::open_queues(&TunOptions::default(), count)?;
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
