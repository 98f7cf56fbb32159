//! Real clients through the proxy, over a path that loses 3 % of the packets in each direction: everything arrives.
//!
//! The example `clients` runs more of them.

#[path = "../../examples/clients/bed.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod bed;
#[path = "../../examples/clients/checks.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod checks;
#[path = "../../examples/clients/page.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod page;
#[path = "../../examples/clients/programs.rs"]
mod programs;

use crate::PROGRAM;
use recoup_net::Namespace;
use recoup_testing::skip;
use std::path::Path;
use std::time::Duration;

#[test]
fn curl_ssh_and_rsync_transfer_everything_at_3_percent_loss() {
    if let Err(why) = Namespace::new() {
        return skip(why);
    }
    let args = checks::Args {
        loss: "bernoulli:3%".parse().expect("a loss"),
        rtt: Duration::from_millis(20),
        profile: "linux-6".into(),
        bytes: 200_000,
        only: ["curl", "ssh", "rsync"].map(str::to_owned).to_vec(),
        seed: 1,
    };
    let (mut done, mut wrong) = (0, Vec::new());
    let outcome = checks::check(&args, Path::new(PROGRAM), &mut |line, is_right| {
        match line.strip_prefix("left out ") {
            Some(why) => skip(why),
            None => done += 1,
        }
        if !is_right {
            wrong.push(line);
        }
    });
    match outcome {
        // Kernels before 6.6, and some containers.
        Err(why) if why.to_string().contains("CAP_") || why.to_string().contains("TCX") => return skip(why),
        outcome => outcome.expect("hosts and servers"),
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(done > 0 || std::env::var_os("RECOUP_REQUIRE_TOOLS").is_none());
}
