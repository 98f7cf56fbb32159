//! Flows between two sockets of the running kernel, over the emulator.

use super::networks::{Flow, Network};
use super::seed;
use super::truth::{Cost, Run, Stage};
use recoup_net::testbed::{self, Options, Setup, Switch, Switches, Testbed};
use recoup_net::{Namespace, NetError, PacketCapture, Tun};
use recoup_tcp::AckPolicy;
use recoup_units::{Direction, FlowId};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::time::Duration;

/// IPv4 header, TCP header and timestamps, in bytes.
const HEADERS: u16 = 52;

/// The running kernel.
pub struct Kernel;

impl Stage for Kernel {
    fn run(&self, network: &Network, flows: u64, server: &str, capture: Option<&Path>) -> Run {
        let packets = capture.map(|path| {
            let [server, client] = [path.to_path_buf(), path.with_extension("client")]
                .map(|path| BufWriter::new(File::create(path).expect("a file")));
            PacketCapture::start(server, client).expect("a capture")
        });
        let run = |number| {
            let mut flow = network.flow(number);
            flow.path.use_byte_offsets(Direction::Down, flow.settings.mss);
            let testbed = Testbed::open(setup(&flow, server)).expect("a testbed");
            let tap = packets.as_ref().map(PacketCapture::tap);
            let outcome = testbed.run(&flow.path, seed(), FlowId(number), tap).expect("a flow");
            Cost::from(&outcome.record)
        };
        let run = (0..flows).map(run).collect();
        if let (Some(packets), Some(path)) = (packets, capture) {
            packets.finish().expect("a capture");
            fs::remove_file(path.with_extension("client")).expect("a capture");
        }
        run
    }
}

/// Whether the system permits testbeds.
pub fn check() -> Result<(), NetError> {
    let namespace = Namespace::new()?;
    namespace.run(|| Tun::create("recoup-probe").map(drop))??;
    Ok(())
}

fn setup(flow: &Flow, server: &str) -> Setup {
    let stack = |mechanisms: &str| {
        testbed::Stack::Kernel(Options {
            switches: switches(mechanisms),
            congestion_control: "cubic".into(),
            initial_window: None,
            quick_acks: flow.settings.ack == AckPolicy::Quick,
            user_timeout: None,
            receive_buffer: None,
        })
    };
    let profile = "linux-6".parse().expect("a profile");
    Setup {
        client: stack("linux-6"),
        server: stack(server),
        workload: flow.settings.flow(&profile).workload,
        mtu: flow.settings.mss + HEADERS,
        patience: Duration::from_secs(130),
        events: false,
    }
}

/// The kernel's switches that make it behave as a profile says.
fn switches(profile: &str) -> Switches {
    let mut switches = Switches::default();
    for (mechanism, switch) in [("+notlp", Switch::Tlp), ("+nosack", Switch::Sack)] {
        switches.set(switch, Some(!profile.ends_with(mechanism)));
    }
    switches
}
