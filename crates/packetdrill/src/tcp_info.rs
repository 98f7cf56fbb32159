//! `struct tcp_info` as the kernel lays it out, from what an endpoint says of itself.
//!
//! The layout is part of the kernel's interface to user space and only ever grows at its end; a
//! caller that knows less of it takes the front part. What this stack does not measure is zero.

use recoup_tcp::Info;

/// Bytes in the kernel's order: four-byte numbers in the machine's byte order, eight-byte ones at
/// offsets that are multiples of eight.
#[derive(Default)]
struct Layout {
    bytes: Vec<u8>,
}

impl Layout {
    fn byte(&mut self, n: u8) {
        self.bytes.push(n);
    }

    fn word(&mut self, n: u32) {
        self.bytes.extend(n.to_ne_bytes());
    }

    fn words(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|n| self.word(*n));
    }

    fn long(&mut self, n: u64) {
        debug_assert_eq!(self.bytes.len() % 8, 0);
        self.bytes.extend(n.to_ne_bytes());
    }
}

/// The structure's bytes.
pub fn bytes(info: &Info) -> Vec<u8> {
    let mut out = Layout::default();
    flags(&mut out, info);
    state(&mut out, info);
    totals(&mut out, info);
    debug_assert_eq!(out.bytes.len() % 8, 0);
    out.bytes
}

fn flags(out: &mut Layout, info: &Info) {
    out.byte(info.state);
    out.byte(info.ca_state);
    out.byte(info.retransmits);
    out.byte(info.probes);
    out.byte(info.backoff);
    out.byte(info.options);
    out.byte((info.snd_wscale & 0xf) | info.rcv_wscale << 4);
    out.byte(0); // delivery_rate_app_limited, fastopen_client_fail
}

fn state(out: &mut Layout, info: &Info) {
    out.words(&[info.rto, info.ato, info.snd_mss, info.rcv_mss]);
    out.words(&[info.unacked, info.sacked, info.lost, info.retrans]);
    out.word(0); // fackets, no longer kept
    out.word(info.last_data_sent);
    out.word(0); // last_ack_sent, never kept
    out.words(&[info.last_data_recv, info.last_ack_recv]);
    out.words(&[info.advmss + 40, info.rcv_wnd]); // pmtu, rcv_ssthresh
    out.words(&[info.rtt, info.rttvar, info.snd_ssthresh, info.snd_cwnd]);
    out.words(&[info.advmss, info.reordering]);
    out.words(&[0, info.rcv_wnd]); // rcv_rtt, rcv_space
    out.word(info.total_retrans);
}

fn totals(out: &mut Layout, info: &Info) {
    out.long(0); // pacing_rate
    out.long(u64::MAX); // max_pacing_rate
    out.long(info.bytes_acked);
    out.long(info.bytes_received);
    out.words(&[info.segs_out, info.segs_in]);
    out.words(&[info.notsent_bytes, info.min_rtt]);
    out.words(&[info.data_segs_in, info.data_segs_out]);
    out.long(0); // delivery_rate
    out.long(0); // busy_time
    out.long(0); // rwnd_limited
    out.long(0); // sndbuf_limited
    out.words(&[info.delivered, 0]); // delivered_ce
    out.long(info.bytes_sent);
    out.long(info.bytes_retrans);
    out.words(&[info.dsack_dups, info.reord_seen]);
    out.words(&[0, info.snd_wnd]); // rcv_ooopack
    out.words(&[info.rcv_wnd, 0]); // rehash
    out.words(&[0, 0]); // total_rto and total_rto_recoveries, total_rto_time
    out.words(&[0; 8]); // accurate ECN: received and delivered bytes by mark, and its modes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_kernel_has_them() {
        let info = Info {
            state: 1,
            snd_wscale: 7,
            rcv_wscale: 8,
            snd_cwnd: 10,
            snd_ssthresh: Info::INFINITE_SSTHRESH,
            reordering: 3,
            min_rtt: 100_000,
            delivered: 42,
            reord_seen: 2,
            snd_wnd: 65_535,
            ..Info::default()
        };
        let bytes = bytes(&info);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((bytes[0], bytes[6]), (1, 0x87));
        // Offsets of struct tcp_info in linux/tcp.h.
        let expected =
            [(76, Info::INFINITE_SSTHRESH), (80, 10), (88, 3), (148, 100_000), (192, 42), (220, 2), (228, 65_535)];
        for (at, value) in expected {
            assert_eq!(word(at), value, "offset {at}");
        }
    }
}
