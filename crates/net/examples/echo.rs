//! An echo server on a stack of its own: `cargo run -p recoup-net --example echo`, as root on Linux.

#[cfg(target_os = "linux")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use recoup_net::{AsyncDevice, TunDevice};
    use recoup_stack::{Config, Stack, TcpListener};

    let device = TunDevice::open(1500)?;
    let address = device.host_addresses()[0];
    let stack = Stack::new(AsyncDevice::new(device)?, Config::new([address]))?;
    let listener = TcpListener::bind(&stack, (address, 7).into())?;
    println!("echoes what comes to {address}:7");
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
