//! The three sites of §3.3.
//!
//! The paper gives their numbers of objects and mean sizes: 12 objects of 24 kB, 44 of 52 kB and 164 of 25 kB. It does
//! not give the sizes of the objects, and its recordings are not available. Ours are lognormal (σ = 1.2, at least
//! 200 B), scaled until the mean is the paper's; kB is 1000 bytes. The HTML document is one of the objects. All objects
//! have one subdomain. The seed is fixed, so a site is always the same.

use crate::prelude::*;
use recoup_sim::traffic::web::{Page, PageObject};

/// A site of the paper: its name, objects, and their mean size in bytes.
pub const SITES: [(&str, u64, u64); 3] =
    [("telephony", 12, 24_000), ("classified", 44, 52_000), ("newspaper", 164, 25_000)];

/// The distribution of sizes before they are scaled.
const SHAPE: LogNormal = LogNormal { median: 1.0, sigma: 1.2, least: 0.0, most: f64::INFINITY };

/// The smallest object, in bytes.
const LEAST: u64 = 200;

/// The seed of all sites.
const SEED: u64 = 1;

/// The pages of the paper's sites.
pub fn pages() -> Vec<Page> {
    let page = |(item, (name, objects, mean)): (u64, (&str, u64, u64))| Page {
        name: name.into(),
        objects: sizes(item, objects, mean).into_iter().map(|bytes| PageObject { bytes, subdomain: 0 }).collect(),
    };
    (0..).zip(SITES).map(page).collect()
}

/// The sizes of the objects of a site, in bytes, with exactly this mean.
fn sizes(item: u64, objects: u64, mean: u64) -> Vec<u64> {
    // "web page" in ASCII.
    const DOMAIN: u64 = 0x7765_6220_7061_6765;
    let draws = Draws::new(SEED, DOMAIN, item);
    let shapes: Vec<f64> = (0..objects).map(|n| draws.lognormal(&SHAPE, 0, n)).collect();
    let total = objects * mean;
    let at = |scale: f64| -> Vec<u64> {
        shapes.iter().map(|shape| (shape * scale) as u64).map(|size| size.max(LEAST)).collect()
    };
    // The sum grows with the scale, so the largest scale whose sum is not too large can be halved into.
    let (mut low, mut high) = (0.0, total as f64);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if at(middle).iter().sum::<u64>() <= total { low = middle } else { high = middle }
    }
    let mut sizes = at(low);
    // The largest object takes the remainder of the rounding.
    let left = total.saturating_sub(sizes.iter().sum());
    if let Some(largest) = sizes.iter_mut().max() {
        *largest += left;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_have_the_papers_objects_and_mean_sizes() {
        for (page, (name, objects, mean)) in pages().iter().zip(SITES) {
            assert_eq!(page.name, name);
            assert_eq!(page.objects.len() as u64, objects);
            assert_eq!(page.bytes(), objects * mean);
            assert!(page.objects.iter().all(|object| object.bytes >= LEAST));
        }
    }

    #[test]
    fn sizes_are_lognormal() {
        let sizes = sizes(9, 20_000, 25_000);
        let logs: Vec<f64> = sizes.iter().map(|size| (*size as f64).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 20_000.0;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((variance.sqrt() - 1.2).abs() < 0.02, "{}", variance.sqrt());
        // The mean of a lognormal quantity is its median times exp(σ²/2).
        let median = 25_000.0 / (1.2_f64 * 1.2 / 2.0).exp();
        assert!((mean.exp() / median - 1.0).abs() < 0.05, "{}", mean.exp());
    }
}
