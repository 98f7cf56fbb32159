use super::super::reruns::tests::rerun;
use super::*;

fn paired_of(all: &[Prediction], mean_square: f64) -> Option<f64> {
    let rerun = rerun(1000.0);
    let pairs: Vec<_> = all.iter().map(|one| (&rerun, one)).collect();
    paired(&pairs, ModelError { mean: 0.0, mean_square })
}

fn is_near(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
}

#[test]
fn differences_draws_and_errors_widen_the_paired_interval() {
    let unchanged = Prediction::default();
    let drawn = Prediction { variance: 100.0, draws: 10, is_changed: true, ..unchanged };
    let changed = Prediction { is_changed: true, ..unchanged };
    assert_eq!(paired_of(&[unchanged], 1.0), None);
    assert_eq!(paired_of(&[unchanged; 4], 1.0), Some(0.0));
    is_near(paired_of(&[drawn; 100], 0.0), 1.961 * 110.0_f64.sqrt() / 10.0);
    is_near(paired_of(&[changed; 100], 50.0), 1.96 * 100.0_f64.sqrt() / 10.0);
    // Half of the connections end 20 ms sooner: the standard deviation is 10 ms.
    let mut halves = [changed; 400];
    halves[..200].iter_mut().for_each(|one| one.change_ms = -20.0);
    is_near(paired_of(&halves, 0.0), 1.966 * 10.0 / 20.0);
    // A single draw shows no variance.
    let once = Prediction { draws: 1, ..drawn };
    assert_eq!(paired_of(&[once, unchanged], 1.0), None);
    // An unknown rate of the path adds half of what lies between fast and slow.
    let pace = Prediction { pace_ms: -8.0, ..changed };
    assert_eq!(paired_of(&[pace; 4], 0.0), Some(8.0));
}

/// A network on which a connection is sometimes delayed by a timeout, more likely on some paths. `scale`: how much more it varies
/// than the drawn runs know.
struct Network {
    state: u64,
    scale: f64,
}

impl Network {
    fn delay(&mut self, one_of: u64) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if (self.state >> 33).is_multiple_of(one_of) { 300.0 } else { 0.0 }
    }

    /// Connections that ran once, with their drawn runs; and the time of another run of all.
    fn connections(&mut self, n: u64) -> (Vec<Rerun>, f64) {
        let mut again = 0.0;
        let all = (0..n).map(|i| {
            let one_of = 5 + i % 10;
            let drawn: Vec<f64> = (0..4).map(|_| self.delay(one_of)).collect();
            let mean_ms = drawn.iter().sum::<f64>() / 4.0;
            let variance = drawn.iter().map(|time| (time - mean_ms).powi(2)).sum::<f64>() / 3.0;
            let spread = Spread { runs: 4, mean_ms, variance };
            again += self.scale * self.delay(one_of);
            let anew = Some(Anew { base: spread, with: vec![spread] });
            Rerun { anew, ..rerun(self.scale * self.delay(one_of)) }
        });
        let all: Vec<Rerun> = all.collect();
        (all, again / n as f64)
    }
}

/// How often the interval of an unchanged sender covers what the same connections meet in another run.
fn share_covered(scale: f64) -> f64 {
    let (trials, mut covered) = (300, 0);
    let mut network = Network { state: 7, scale };
    for _ in 0..trials {
        let (reruns, again) = network.connections(200);
        let captured = reruns.iter().map(|one| one.base_fct_ms).sum::<f64>() / 200.0;
        let unchanged = Prediction::default();
        let pairs: Vec<_> = reruns.iter().map(|rerun| (rerun, &unchanged)).collect();
        let half = once_more(&pairs, 0, ModelError::default()).unwrap();
        covered += u32::from((again - captured).abs() <= half);
    }
    f64::from(covered) / f64::from(trials)
}

#[test]
fn the_interval_covers_another_run() {
    for scale in [1.0, 2.0] {
        let share = share_covered(scale);
        assert!((0.92..=0.995).contains(&share), "{scale}: {share}");
    }
}

#[test]
fn connections_that_all_lose_the_same_have_a_narrow_interval() {
    // A tail that is lost in each connection: drawn losses would hit some only.
    let spread = Spread { runs: 4, mean_ms: 100.0, variance: 10_000.0 };
    let anew = Some(Anew { base: spread, with: vec![spread] });
    let rerun = Rerun { anew, ..rerun(400.0) };
    let unchanged = Prediction::default();
    let pairs = vec![(&rerun, &unchanged); 100];
    assert_eq!(once_more(&pairs, 0, ModelError::default()), Some(0.0));
    // Without drawn runs nothing is known.
    let rerun = Rerun { anew: None, ..rerun.clone() };
    assert_eq!(once_more(&[(&rerun, &unchanged)], 0, ModelError::default()), None);
}
