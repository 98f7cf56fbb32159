//! In the running kernel.

use super::*;
use recoup_testing::skip;

#[test]
fn the_kernel_takes_the_programs() {
    match Retransmissions::open() {
        Ok(mut opened) => {
            // Other connections of this machine may retransmit.
            opened.take(|retransmission| assert_ne!(retransmission.seq, retransmission.end));
            assert_eq!(opened.lost(), 0);
        }
        Err(why @ (KernelError::NoBtf(_) | KernelError::NoRight { .. })) => skip(why),
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn the_kernel_takes_the_program_for_older_kernels() {
    let btf = match kernel_types() {
        Ok(btf) => btf,
        Err(why) => return skip(why),
    };
    let mut object = match object(&NEEDS, OBJECT, Some(&btf)) {
        Ok(object) => object,
        Err(why @ KernelError::NoRight { .. }) => return skip(why),
        Err(why) => panic!("{why}"),
    };
    attach(&mut object, &needs("segment"), "tcp_retransmit_skb", &btf).unwrap();
}

#[test]
fn a_tracepoint_that_is_missing_is_named() {
    let btf = match kernel_types() {
        Ok(btf) => btf,
        Err(why) => return skip(why),
    };
    let mut object = match object(&NEEDS, OBJECT, Some(&btf)) {
        Ok(object) => object,
        Err(why @ KernelError::NoRight { .. }) => return skip(why),
        Err(why) => panic!("{why}"),
    };
    let error = attach(&mut object, &needs("segment"), "tcp_no_such_tracepoint", &btf).unwrap_err();
    assert!(matches!(error, KernelError::NoTracepoint("tcp_no_such_tracepoint")), "{error}");
}
