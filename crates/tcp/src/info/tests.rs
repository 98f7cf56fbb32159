use super::*;
use crate::Config;
use recoup_recovery::Mechanisms;

#[test]
fn fields_can_be_read_by_name() {
    let info = Info { snd_cwnd: 10, ..Info::default() };
    assert_eq!(info.get("snd_cwnd"), Some(10));
    assert_eq!(info.get("tcpi_snd_cwnd"), None);
    assert!(Info::NAMES.iter().all(|name| info.get(name).is_some()));
}

/// Exchanges segments between two endpoints, 10 ms apart, until neither sends.
fn exchange(a: &mut Endpoint, b: &mut Endpoint, now: &mut Instant) {
    let mut segment = Segment::default();
    loop {
        let mut quiet = true;
        for backwards in [false, true] {
            let (from, to) = if backwards { (&mut *b, &mut *a) } else { (&mut *a, &mut *b) };
            let mut sent = vec![];
            while from.poll_transmit(*now, &mut segment).is_some() {
                sent.push(segment);
            }
            quiet &= sent.is_empty();
            *now += Duration::from_millis(10);
            sent.iter().for_each(|s| to.on_segment(*now, s));
        }
        if quiet {
            return;
        }
    }
}

#[test]
fn a_transfer_is_reported_in_the_kernels_units() {
    let config = Config::new(Mechanisms::LINUX_3_17);
    let (mut client, mut server) = (Endpoint::connect(&config), Endpoint::listen(&config));
    let mut now = Instant::ZERO;
    exchange(&mut client, &mut server, &mut now);
    client.write(now, 3 * 1448);
    exchange(&mut client, &mut server, &mut now);
    let info = client.info(now);
    assert_eq!((info.state, info.ca_state, info.options), (1, 0, Info::TIMESTAMPS | Info::SACK | Info::WINDOW_SCALE));
    assert_eq!((info.snd_mss, info.advmss), (1448, 1460));
    assert_eq!((info.snd_cwnd, info.snd_ssthresh), (10, Info::INFINITE_SSTHRESH));
    assert_eq!((info.rtt, info.min_rtt), (20_000, 20_000));
    assert_eq!((info.bytes_sent, info.bytes_acked), (4344, 4345)); // the SYN counts
    assert_eq!((info.data_segs_out, info.unacked, info.retrans), (3, 0, 0));
    let info = server.info(now);
    assert_eq!((info.bytes_received, info.data_segs_in), (4344, 3));
    assert_eq!(info.rcv_mss, 1448);
}
