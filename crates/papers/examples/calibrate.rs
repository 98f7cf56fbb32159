use recoup_papers::prr::servers::{connection::Connection, users::*};
use recoup_papers::population::LogNormal;
use recoup_lab::scenario::Scenario;
use recoup_recovery::*;
use recoup_lab::run::{cores, in_parallel};
use std::path::Path;
fn v(n: &str, d: f64) -> f64 { std::env::var(n).ok().map_or(d, |s| s.parse().unwrap()) }
fn ln(median: f64, sigma: f64, least: f64, most: f64) -> LogNormal { LogNormal { median, sigma, least, most } }
fn main() {
    let kind = std::env::args().nth(1).unwrap();
    let n = v("N", 5000.0) as usize;
    let users = if kind == "web" { Users {
        rtt: ln(v("RTT", 100.0), v("RTTS", 0.9), 5.0, 3000.0),
        rate: ln(1.9 / (0.5f64 * v("RATES", 1.0).powi(2)).exp(), v("RATES", 1.0), 0.064, 50.0),
        queue: ln(v("Q", 300.0), v("QS", 0.7), 20.0, 5000.0),
        loss: ln(v("LOSS", 0.01), v("LOSSS", 1.0), 0.0001, 0.3),
        burst: v("BURST", 2.0), burst_loss: v("BAD", 1.0), ack_loss: v("ACK", 0.5), reordered: v("RE", 0.0075),
        reordering_delay: ln(v("RED", 5.0), 1.0, 0.1, 200.0),
        sack: 0.96, timestamps: 0.12,
        service: Service::Web { requests: 3.1, response: ln(7500.0 / (0.5f64*v("RS", 1.3).powi(2)).exp(), v("RS", 1.3), 100.0, 1e7), think_time: ln(v("THINK", 2000.0), 1.5, 50.0, 240000.0) },
    } } else { Users {
        rtt: ln(v("RTT", 250.0), v("RTTS", 0.5), 5.0, 3000.0),
        rate: ln(v("RATE", 0.25), v("RATES", 0.1), 0.064, 50.0),
        queue: ln(v("Q", 800.0), v("QS", 0.3), 20.0, 5000.0),
        loss: ln(v("LOSS", 0.02), v("LOSSS", 0.5), 0.0001, 0.3),
        burst: v("BURST", 2.0), burst_loss: v("BAD", 1.0), ack_loss: v("ACK", 0.2), reordered: v("RE", 0.0075),
        reordering_delay: ln(v("RED", 5.0), 1.0, 0.1, 200.0),
        sack: 0.96, timestamps: 0.12,
        service: Service::Video { size: ln(2.3e6 / (0.5f64*0.6*0.6).exp(), 0.6, 1e5, 2e7), encoding: ln(v("ENC", 250.0), v("ENCS", 0.2), 50.0, 2000.0), burst: v("VB", 25.0), block: 65536 },
    } };
    let mut base = Scenario::load("prr").unwrap();
    for (k, val) in [("mss", "1430"), ("initial_window", "profile"), ("ack", "delayed:100ms")] { base.settings.set(k, val, Path::new("")).unwrap(); }
    let client: Profile = "linux-2.6".parse().unwrap();
    for arm in ["linux-2.6", "linux-2.6+std", "linux-2.6+prr", "linux-2.6+ernaive", "linux-2.6+er"] {
        if v("ALL", 1.0) == 0.0 && arm != "linux-2.6" { break; }
        let hosts = Hosts::new(&base.settings, &client, &arm.parse().unwrap());
        let t = std::time::Instant::now();
        let all = in_parallel(n, cores(), |i| { let u = users.user(1, i as u64); let r = u.responses.len() as u64; let b: u64 = u.responses.iter().sum(); Connection::run(&u, &hosts, 1, i as u64).map(|c| (c, r, b)) }).unwrap();
        let mut c = Counters::default();
        for (x, ..) in &all { c.merge(&x.counters); }
        let rec: Vec<Recovery> = all.iter().flat_map(|(x, ..)| x.recoveries.clone()).collect();
        let responses: u64 = all.iter().map(|x| x.1).sum();
        let hit: u64 = all.iter().map(|x| x.0.responses_retransmitted).sum();
        let bytes: u64 = all.iter().map(|x| x.2).sum();
        let retx = c.retransmissions.total() as f64;
        let p = |x: u64| 100.0 * x as f64 / retx;
        use Trigger::*;
        let r = c.retransmissions;
        if v("ALL", 1.0) == 0.0 { 
            let rec: Vec<Recovery> = all.iter().flat_map(|(x, ..)| x.recoveries.clone()).collect();
            let below = rec.iter().filter(|x| x.pipe.0 < x.ssthresh.0).count() as f64 / rec.len() as f64;
            println!("rate {:.2} resp {:.2} FR/rec {:.2} below {:.2} fast {:.0} rto {:.0} (o {:.1} d {:.1} r {:.1} l {:.1}) ss {:.0} lostFR {:.1} dsack {:.1}/FR {:.1} busy {:.1} inrec {:.1} byFR {:.1} ssafter {:.0} rtt {:.0} q/c {:.2} cwnd<3 {:.2}", 100.0 * retx / c.segments_sent as f64, 100.0 * hit as f64 / responses as f64, (r.of(Fast)+r.of(Early)) as f64 / c.recoveries as f64, below, p(r.of(Fast)), p(r.of(Rto)), p(c.timeouts_in(State::Open)), p(c.timeouts_in(State::Disorder)), p(c.timeouts_in(State::Recovery)), p(c.timeouts_in(State::Loss)), p(r.of(SlowStart)), 100.0 * c.lost_retransmissions as f64 / (r.of(Fast) + r.of(Early)) as f64, p(c.dsacks), 100.0 * c.recoveries_with_dsack as f64 / c.recoveries as f64, c.busy.as_secs_f64() / n as f64, 100.0 * (c.in_recovery + c.in_loss).as_secs_f64() / c.busy.as_secs_f64(),100.0 * c.sent_in_recovery as f64 / c.segments_sent as f64, 100.0 * c.slow_starts_after_recovery as f64 / c.recoveries as f64, all.iter().map(|x| x.0.srtt_ms).sum::<f64>() / n as f64, all.iter().map(|x| x.0.queue_drops).sum::<u64>() as f64 / all.iter().map(|x| x.0.channel_drops).sum::<u64>() as f64, rec.iter().filter(|x| x.cwnd.0 < 3).count() as f64 / rec.len() as f64);
            break;
        }
        println!("== {arm} {:.1?} responses {responses} ({:.0} B) retx {retx} rate {:.2}% resp retx {:.2}% FR/rec {:.2} recs {} disturbed {:.3}", t.elapsed(), bytes as f64 / responses as f64, 100.0 * retx / c.segments_sent as f64, 100.0 * hit as f64 / responses as f64, (r.of(Fast)+r.of(Early)) as f64 / c.recoveries as f64, c.recoveries, all.iter().filter(|x| x.0.disturbed).count() as f64 / n as f64);
        println!("  T2 fast {:.1} early {:.1} rto {:.1} (open {:.1} dis {:.1} rec {:.1} loss {:.1}) ss {:.1} failed {:.1} undone {:?} reord {}", p(r.of(Fast)), p(r.of(Early)), p(r.of(Rto)), p(c.timeouts_in(State::Open)), p(c.timeouts_in(State::Disorder)), p(c.timeouts_in(State::Recovery)), p(c.timeouts_in(State::Loss)), p(r.of(SlowStart)), p(c.failed_retransmissions), c.undone, c.reordering_seen);
        let cmp = |f: &dyn Fn(i64) -> bool| 100.0 * rec.iter().filter(|x| f(i64::from(x.pipe.0) - i64::from(x.ssthresh.0))).count() as f64 / rec.len() as f64;
        let q = |mut v: Vec<i64>| { v.sort(); [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.99999].map(|q| v[(q * v.len() as f64) as usize]) };
        println!("  T3 dsack/FR {:.1}% dsacks/retx {:.1}% lost/FR {:.1}% lost/retx {:.1}% | T5 < {:.0} = {:.0} > {:.0} {:?}", 100.0 * c.recoveries_with_dsack as f64 / c.recoveries as f64, 100.0 * c.dsacks as f64 / retx, 100.0 * c.lost_retransmissions as f64 / c.recoveries as f64, 100.0 * c.lost_retransmissions as f64 / retx, cmp(&|d| d < 0), cmp(&|d| d == 0), cmp(&|d| d > 0), q(rec.iter().map(|x| i64::from(x.pipe.0) - i64::from(x.ssthresh.0)).collect()));
        println!("  T6 {:?} T7 {:?}", q(rec.iter().map(|x| i64::from(x.last_cwnd.0) - i64::from(x.ssthresh.0)).collect()), q(rec.iter().map(|x| i64::from(x.cwnd.0)).collect()));
        println!("  T10 busy {:.2} s/conn, in rec {:.1}%, bytes in FR {:.1}%, lost FR {:.1}%, ss after {:.0}%, srtt {:.0} qdrop {} cdrop {}", c.busy.as_secs_f64() / n as f64, 100.0 * (c.in_recovery + c.in_loss).as_secs_f64() / c.busy.as_secs_f64(), 100.0 * c.sent_in_recovery as f64 / c.segments_sent as f64, 100.0 * c.lost_retransmissions as f64 / (r.of(Fast) + r.of(Early)) as f64, 100.0 * c.slow_starts_after_recovery as f64 / c.recoveries as f64, all.iter().map(|x| x.0.srtt_ms).sum::<f64>() / n as f64, all.iter().map(|x| x.0.queue_drops).sum::<u64>(), all.iter().map(|x| x.0.channel_drops).sum::<u64>());
    }
}
