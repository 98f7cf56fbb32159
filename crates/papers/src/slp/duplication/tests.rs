use super::*;
use crate::experiment::Effort;

#[test]
fn a_packet_sent_twice_counts_twice_and_is_rarely_lost() {
    let setup = crate::slp::setup(ID, Effort::Quick);
    let [plain, all] = [Arm::Arq, Arm::All].map(|arm| cell(&setup, FILES[0], arm, 100).unwrap());
    assert!(all.bytes > 1.8 * plain.bytes, "{} {}", all.bytes, plain.bytes);
    // A lost SYN or request costs a second.
    assert!(plain.quantile_ms(0.99) > 500.0 && all.quantile_ms(0.99) < 500.0);
    crate::assert_fits_a_terminal(&text(&[plain, all]));
}
