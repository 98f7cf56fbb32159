//! Carries all TCP and UDP of a TUN device over a SOCKS5 proxy: `cargo run -p recoup-net --example tun2socks ADDRESS:PORT`, as
//! root on Linux, and then `ip route add NETWORK dev NAME` for what is to go there. The proxy itself must not be routed there.

#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod socks;
#[cfg(target_os = "linux")]
mod udp;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    relay::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
