use recoup_recovery::Profile;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::{Kept, Settings, analyze};
use recoup_trace::finding::Vantage;
use recoup_trace::read::Reader;
use recoup_units::Direction;
use recoup_whatif::loss::{LossCounts, LossProcess};
use recoup_whatif::*;
use std::collections::HashMap;
use std::sync::Arc;

fn tsv(path: &str) -> HashMap<u16, Vec<f64>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|l| {
            let c: Vec<&str> = l.split('\t').collect();
            Some((
                c.first()?.parse().ok()?,
                c.iter().map(|x| x.parse().unwrap_or(f64::NAN)).collect(),
            ))
        })
        .collect()
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let dir = &a[1];
    let verbose = a.iter().any(|x| x == "-v");
    let name = std::path::Path::new(dir)
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let parts: Vec<&str> = name.splitn(2, '.').collect();
    // NETWORK.BASE.OTHER where profile names may contain dots
    let rest = parts[1];
    let mut found = None;
    for (i, ch) in rest.char_indices() {
        if ch == '.'
            && let (Ok(b), Ok(o)) = (
                rest[..i].parse::<Profile>(),
                rest[i + 1..].parse::<Profile>(),
            )
        {
            found = Some((b, o));
        }
    }
    let (base, other) = found.expect("profiles");
    let path = format!("{dir}/capture.pcap");
    let path = std::path::Path::new(&path);
    let t = std::time::Instant::now();
    let analysis = analyze(
        Reader::open(path).unwrap(),
        &Settings::default(),
        Kept::default,
        |_| true,
    )
    .unwrap();
    let mut conns = Vec::new();
    let mut rows = HashMap::<u64, Vec<_>>::new();
    for k in analysis.findings {
        conns.extend(k.connections);
        for r in k.retransmissions {
            rows.entry(r.connection).or_default().push(r);
        }
    }
    conns.sort_by_key(|c| c.id);
    let by: HashMap<_, _> = conns
        .iter()
        .enumerate()
        .map(|(i, c)| (c.endpoints, i))
        .collect();
    let mut packets: Vec<ConnectionPackets> =
        conns.iter().map(|_| ConnectionPackets::new()).collect();
    let mut r = Reader::open(path).unwrap();
    while let Some(p) = r.next() {
        if let Some(i) = by.get(&p.endpoints) {
            packets[*i].push(p, Direction::Up);
        } else if let Some(i) = by.get(&p.endpoints.reverse()) {
            packets[*i].push(p, Direction::Down);
        }
    }
    let t_read = t.elapsed();
    let (b, o) = (
        tsv(&format!("{dir}/base.tsv")),
        tsv(&format!("{dir}/other.tsv")),
    );
    let mut rr = Rerunner::new();
    let mut all = Vec::new();
    let mut counts = LossCounts::default();
    let mut apart = HashMap::<String, u32>::new();
    let mut refused = HashMap::<String, u32>::new();
    for (c, p) in conns.iter().zip(&packets) {
        let none = vec![];
        let rw = rows.get(&c.id).unwrap_or(&none);
        let own: Vec<_> = rw
            .iter()
            .filter(|r| r.endpoints.src == c.endpoints.dst)
            .copied()
            .collect();
        if c.directions[1].vantage != Vantage::Sender && verbose {
            println!("{} vantage {:?}", c.id, c.directions[1].vantage);
        }
        match record(p, Host::Server, &own) {
            Ok(rec) => {
                counts.merge(rec.losses());
                all.push((c, Arc::new(rec)))
            }
            Err(e) => *refused.entry(e.name().into()).or_default() += 1,
        }
    }
    let process = LossProcess::of(&counts);
    if verbose {
        println!("{process:?}");
    }
    let (mut n, mut st, mut sp, mut sb, mut nd) = (0, 0.0, 0.0, 0.0, 0);
    let mut sign = (0, 0);
    let (mut vt, mut vp) = (0.0, 0.0);
    let mut ser = Vec::new();
    for (c, rec) in &all {
        let port = c.endpoints.src.port();
        match rr.reproduce(rec, std::slice::from_ref(&base)) {
            Err(m) => {
                if a.iter().any(|x| x == &format!("-t{port}")) {
                    for t in rec.transmissions() {
                        println!("  {:?} {} {} {:?}", t.span, t.copy, t.sent, t.fate);
                    }
                    println!("{:?}", rec.habit());
                }
                *apart.entry(m.name().into()).or_default() += 1;
                if verbose {
                    println!(
                        "{:5} port {port} APART {m} rtt {:?} (true base {:.1})",
                        c.id,
                        rec.rtt(),
                        b.get(&port).map_or(f64::NAN, |x| x[4])
                    );
                }
            }
            Ok(re) => {
                let local = process.of_connection(&counts, rec.losses());
                let first = rr.run(rec, &re, other.mechanisms(), &local, 1);
                let mut f: Vec<f64> = vec![first.fct.map_or(f64::NAN, |x| x.as_secs_f64() * 1e3)];
                if first.packets_drawn > 0 {
                    nd += 1;
                    for s in 2..=10 {
                        f.push(
                            rr.run(rec, &re, other.mechanisms(), &local, s)
                                .fct
                                .map_or(f64::NAN, |x| x.as_secs_f64() * 1e3),
                        );
                    }
                }
                let mean = f.iter().sum::<f64>() / f.len() as f64;
                let base_f = re.base.fct.unwrap().as_secs_f64() * 1e3;
                let (Some(tb), Some(to)) = (b.get(&port), o.get(&port)) else {
                    continue;
                };
                let truth = to[4] - tb[4];
                let pred = mean - base_f;
                if !truth.is_finite() || !pred.is_finite() {
                    println!("nan {port} {truth} {pred}");
                    continue;
                }
                n += 1;
                st += truth;
                sp += pred;
                sb += tb[4];
                vt += truth * truth;
                vp += (pred - truth).powi(2);
                if first.packets_drawn == 0 && truth.abs() > tb[1] {
                    sign.1 += 1;
                    if truth.signum() == pred.signum() {
                        sign.0 += 1
                    } else if verbose {
                        println!("SIGN {port}")
                    }
                }
                ser.push((pred - truth).abs());
                if verbose && ((pred - truth).abs() > 0.1 * truth.abs().max(tb[1]))
                    || (base_f - tb[4]).abs() > 5.0
                {
                    if verbose {
                        println!(
                            "{:5} port {port} rtt {} segs {} base true {:.1} rerun {:.1}  change true {:.1} pred {:.1} drawn {}",
                            c.id, tb[1], tb[2], tb[4], base_f, truth, pred, first.packets_drawn
                        );
                    }
                }
            }
        }
    }
    let nn = n as f64;
    let (mt, mp, mb) = (st / nn, sp / nn, sb / nn);
    let bound = (0.2 * mt.abs()).max(0.01 * mb);
    println!(
        "{:60} n {n:4} base {mb:7.1} true {mt:8.2} pred {mp:8.2} err {:7.2} {} sd_err {:6.1} sd_t {:6.1} apart {:?} refused {:?} drawn {nd} sign {}/{} read {:.1}s all {:.1}s",
        name,
        mp - mt,
        if (mp - mt).abs() <= bound {
            "ok  "
        } else {
            "MISS"
        },
        (vp / nn).sqrt(),
        (vt / nn).sqrt(),
        apart,
        refused,
        sign.0,
        sign.1,
        t_read.as_secs_f64(),
        t.elapsed().as_secs_f64()
    );
}
