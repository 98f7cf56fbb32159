//! The applications of [exchanges](recoup_support::exchange).

use recoup_support::exchange::Exchange;
use recoup_tcp::flow::{Script, When, Workload, Write};

/// The writes of both applications. Neither closes.
pub(super) fn workload(exchanges: &[Exchange]) -> Workload {
    let (mut client, mut server) = (Vec::new(), Vec::new());
    let [mut up, mut down] = [0_u64; 2];
    let mut is_answered = true;
    for exchange in exchanges {
        let mut after = exchange.wait;
        match exchange.request {
            0 => after = after.saturating_add(exchange.pause),
            bytes => {
                let when =
                    When { received: down, acknowledged: if is_answered { 0 } else { up }, after: exchange.pause };
                client.push(Write { when, bytes });
                up = up.saturating_add(bytes);
            }
        }
        if exchange.response > 0 {
            let when = When { received: up, after, ..When::default() };
            let bytes = exchange.response;
            server.push(Write { when, bytes });
            down = down.saturating_add(bytes);
        }
        is_answered = exchange.response > 0;
    }
    let [client, server] = [client, server].map(|writes| Script::of(&writes));
    Workload { client, server }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_support::exchange::parse;
    use std::time::Duration;

    #[test]
    fn each_end_waits_for_the_other() {
        let workload = workload(&parse("300B>20kB,1s,0>5kB,100B>0,20ms,7B>30ms>9B").unwrap());
        let write = |received, acknowledged, after, bytes| Write {
            when: When { received, acknowledged, after: Duration::from_millis(after) },
            bytes,
        };
        assert_eq!(
            workload.client.writes[..],
            [write(0, 0, 0, 300), write(25_000, 0, 0, 100), write(25_000, 400, 20, 7)]
        );
        assert_eq!(
            workload.server.writes[..],
            [write(300, 0, 0, 20_000), write(300, 0, 1000, 5000), write(407, 0, 30, 9)]
        );
    }
}
