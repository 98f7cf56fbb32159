//! Hosts on a network in virtual time where anything may happen, by random choices: see [`network`].
//!
//! `RECOUP_CONNECTIONS=N` runs so many connections (some thousands by default), in networks of up to some thousands each.
//! `RECOUP_SEED=S` begins with another seed. A failure names the seed of its network: with `RECOUP_SEED` and
//! `RECOUP_CONNECTIONS=1` that network runs alone, and `RECOUP_PORT=P` prints the packets of a connection.

mod network;

use network::{Network, Summary, choices::Choices, of_seed, stranger};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

fn given(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |given| given.parse().unwrap_or_else(|_| panic!("{name}: a whole number")))
}

#[test]
fn whatever_happens_every_byte_arrives_once_and_in_order() {
    let (first, connections) = (given("RECOUP_SEED", 1), given("RECOUP_CONNECTIONS", 5000));
    let (mut all, mut seed) = (Summary::default(), first);
    while all.begun < connections {
        match catch_unwind(AssertUnwindSafe(|| of_seed(seed))) {
            Ok(summary) => all += summary,
            Err(reason) => {
                println!("to repeat: RECOUP_SEED={seed} RECOUP_CONNECTIONS=1");
                resume_unwind(reason);
            }
        }
        seed += 1;
        if (seed - first).is_multiple_of(1000) {
            println!("to seed {seed}: {all:?}");
        }
    }
    println!("seeds {first} to {}: {all:?}", seed - 1);
    // Networks without any excuse must be among many.
    assert!(connections < 5000 || all.delivered > all.begun / 5, "{all:?}");
}

/// In this network a path MTU probe was sent whole for ever, for want of memory to cut it.
#[test]
fn a_probe_that_there_is_no_memory_to_cut_is_cut_later() {
    assert!(of_seed(3_001_706).packets > 0);
}

/// In this network a segment was sent a nanosecond before others that had been sent already, and the reordering timer fired for ever.
#[test]
fn the_reordering_timer_fires_once() {
    assert!(of_seed(5_007_274).packets > 0);
}

#[test]
fn the_bytes_of_a_fuzzer_choose_as_well() {
    let bytes: Vec<u8> = (0..3000_u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
    let mut choices = Choices::Bytes(&bytes);
    let network = Network::new(&mut choices);
    let summary = network.play(&mut choices, 300);
    assert!(summary.packets > 0);
}

#[test]
fn a_host_meets_packets_of_any_kind() {
    let first = given("RECOUP_SEED", 1);
    for seed in first..first + given("RECOUP_STRANGERS", 300) {
        let met = catch_unwind(|| stranger::meet(&mut Choices::of_seed(seed), 200));
        if let Err(reason) = met {
            println!("to repeat: RECOUP_SEED={seed} RECOUP_STRANGERS=1");
            resume_unwind(reason);
        }
    }
}
