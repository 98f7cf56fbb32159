mod random_tapes;

use super::*;

#[test]
fn packets_are_cut_into_segments_and_the_fin_goes_with_the_last() {
    let lens = |len| {
        let span = Span::at(Offset(5), len);
        pieces(span, 1000).map(Span::len).collect::<Vec<_>>()
    };
    assert_eq!(lens(0), [] as [u64; 0]);
    assert_eq!(lens(1), [1]);
    assert_eq!(lens(1000), [1000]);
    assert_eq!(lens(1001), [1001]);
    assert_eq!(lens(2500), [1000, 1000, 500]);
    assert_eq!(lens(3001), [1000, 1000, 1001]);
    assert!(lens(1 << 30).len() <= 256);
}
