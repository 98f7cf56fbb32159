//! A client on a stack of its own: `cargo run -p recoup-net --example client ADDRESS:PORT TEXT` sends the text and prints the
//! answer, as root on Linux.

#[cfg(target_os = "linux")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use recoup_net::{AsyncDevice, TunDevice};
    use recoup_stack::{Config, Stack, TcpStream};
    use tokio::io::{AsyncWriteExt as _, copy, stdout};

    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [server, text] = &arguments[..] else {
        return Err("expected ADDRESS:PORT TEXT".into());
    };
    let device = TunDevice::open(1500)?;
    let config = Config::new(device.host_addresses().iter().copied());
    let stack = Stack::new(AsyncDevice::new(device)?, config)?;
    let mut stream = TcpStream::connect(&stack, server.parse()?).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.close()?;
    copy(&mut stream, &mut stdout()).await?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
