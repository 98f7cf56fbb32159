use super::*;
use crate::{
    page::encoding::items,
    sequence::{Mark, MarkKind, Necessity, Panel},
};
use recoup_units::{Instant, Offset, Span};

/// Segments every 100 µs, each acknowledged 50 µs later. Every 500th is retransmitted.
fn transfer(segments: u64) -> Vec<Item> {
    let mut marks = Vec::new();
    for n in 0..segments {
        let span = Span::at(Offset(1 + n * 1000), 1000);
        let at = |us: u64| Instant::from_nanos((n * 100 + us) * 1000);
        marks.push(Mark::new(at(0), MarkKind::Sent(span)));
        if n % 500 == 499 {
            marks.push(Mark::new(
                at(20),
                MarkKind::Explained { span, trigger: "rto".into(), necessity: Necessity::Needed, reason: "" },
            ));
        }
        marks.push(Mark::new(at(50), MarkKind::Acked(span.end)));
    }
    items(&Panel { title: String::new(), marks })
}

fn count(items: &[Item], kind: Kind) -> u64 {
    items.iter().filter(|item| item.kind == kind).map(|item| item.count).sum()
}

#[test]
fn few_marks_stay_as_they_are() {
    let all = transfer(100);
    let thinned = thin(all.clone(), all.len());
    assert_eq!(thinned.items, all);
    assert_eq!((thinned.merged, thinned.left_out), (0, 0));
    assert_eq!(thin(Vec::new(), 0).items, []);
}

#[test]
fn merged_marks_cover_the_same_data() {
    let all = transfer(10_000);
    let thinned = thin(all.clone(), 2000);
    let few = &thinned.items;
    assert!(few.len() <= 2000 && few.len() > 1000, "{}", few.len());
    assert_eq!(thinned.merged, all.len() - few.len());
    assert_eq!(thinned.left_out, 0);
    for kind in [Kind::Data, Kind::Needed, Kind::Acked] {
        assert_eq!(count(few, kind), count(&all, kind), "{kind:?}");
    }
    let data: Vec<&Item> = few.iter().filter(|item| item.kind == Kind::Data).collect();
    assert!(data.windows(2).all(|pair| pair[0].high == pair[1].low), "no gaps");
    assert_eq!((data[0].low, data[data.len() - 1].high), (1, 10_000_001));
    assert!(few.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order of time");
}

#[test]
fn marks_near_retransmissions_stay_alone() {
    let thinned = thin(transfer(10_000), 5000);
    let few = &thinned.items;
    let again = few.iter().filter(|item| item.kind == Kind::Needed);
    let near = |at: u64| few.iter().filter(move |item| item.at.abs_diff(at) < 200);
    assert!(again.clone().all(|again| near(again.at).all(|item| item.count == 1)));
    assert_eq!(again.count(), 20);
    assert!(few.iter().any(|item| item.count > 1));
}

#[test]
fn too_many_retransmissions_leave_the_last_out() {
    let mut all = transfer(1000);
    for item in &mut all {
        item.kind = Kind::Spurious;
    }
    let thinned = thin(all.clone(), 300);
    assert_eq!(thinned.items, all[..300]);
    assert_eq!(thinned.left_out, all.len() - 300);
}

#[test]
fn marks_at_one_moment_are_thinned_too() {
    let mut all = transfer(2000);
    for item in &mut all {
        (item.at, item.until) = (7, 7);
    }
    assert!(thin(all, 100).items.len() <= 100);
}
