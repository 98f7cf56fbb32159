//! Marks of routers, and which packets they may mark.

use super::*;
use recoup_wire::Ecn;

const PORT: &str = "192.0.2.2:81";

#[test]
fn marks_replace_losses_where_both_ends_know_of_ecn() {
    let mut pair = Pair::new();
    pair.client.config.tcp.endpoint.ecn = recoup_tcp::Ecn::Ask;
    let mut options = pair.server.config.tcp;
    options.endpoint.ecn = recoup_tcp::Ecn::Answer;
    pair.server.listen_with(PORT.parse().unwrap(), &options).unwrap();
    let ours = pair.client.connect(pair.now, PORT.parse().unwrap()).unwrap();
    pair.run(100);
    let theirs = pair.server.next_event().unwrap().connection;
    let seen = Rc::new(Cell::new([0_u32; 4]));
    let (counts, mut highest) = (Rc::clone(&seen), None::<SeqNumber>);
    pair.lost = Box::new(move |to_server, packet| {
        let decoded = decode(packet).unwrap();
        let segment = &decoded.segment;
        let [mut new, mut again, mut echoes, mut reduced] = counts.get();
        if to_server {
            let end = segment.seq + segment.payload_len;
            let is_new = segment.payload_len > 0 && highest.is_none_or(|highest| end.after(highest));
            assert_eq!(decoded.ecn, if is_new { Ecn::ECT0 } else { Ecn::NONE }, "{segment}");
            highest = if is_new { Some(end) } else { highest };
            new += u32::from(is_new);
            again += u32::from(!is_new && segment.payload_len > 0);
            reduced += u32::from(segment.flags.contains(Flags::CWR));
        } else {
            assert_eq!(decoded.ecn, Ecn::NONE);
            echoes += u32::from(segment.flags.contains(Flags::ECE));
        }
        counts.set([new, again, echoes, reduced]);
        to_server && new % 97 == 50 && segment.payload_len > 0
    });
    let bytes = stream(300_000);
    assert!(pair.transfer(ours, theirs, &bytes) == bytes);
    let [new, again, echoes, reduced] = seen.get();
    assert!(new > 200 && again > 0 && echoes == 0 && reduced > 0, "{:?}", seen.get());
    // A router marks a packet instead of dropping it.
    pair.lost = Box::new(|_, _| false);
    pair.client.write(pair.now, ours, &stream(20_000)).unwrap();
    let mut sent = Vec::new();
    pair.client.poll_transmit(pair.now, &mut |packet: &[u8]| sent.push(packet.to_vec()));
    sent[0][1] |= 3;
    repair(&mut sent[0]);
    assert!(decode(&sent[0]).unwrap().ecn.is_marked());
    let answer = answers(&mut pair.server, pair.now, &sent[0]);
    assert!(answer.iter().any(|segment| segment.flags.contains(Flags::ECE)), "{answer:?}");
    let mut echo = None;
    pair.server.on_packet(pair.now, &sent[1], &mut |packet: &[u8]| echo = Some(packet.to_vec()));
    pair.server.poll_transmit(pair.now, &mut |packet: &[u8]| echo = Some(packet.to_vec()));
    pair.hand_in(false, &echo.unwrap());
    assert_eq!(pair.client.sender(ours).unwrap().state(), recoup_recovery::State::Cwr);
}
