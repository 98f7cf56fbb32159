use super::*;

/// `return 1` if the byte at 0 is any of the first `count` numbers, all tested one after another.
fn any_of_first(count: u32) -> Option<Vec<Instruction>> {
    let mut program = Assembler::default();
    let accept = program.label();
    program.push(code::LOAD_BYTE, 0);
    for number in 0..count {
        let next = program.label();
        program.branch(code::IF_EQUAL, number, accept, next);
        program.place(next);
    }
    program.push(code::RETURN, 0);
    program.place(accept);
    program.push(code::RETURN, 1);
    program.finish()
}

#[test]
fn jumps_reach_any_distance() {
    for count in [1, 10, 200, 254, 255] {
        let program = any_of_first(count).unwrap();
        for byte in 0..=255 {
            let expected = u32::from(u32::from(byte) < count);
            assert_eq!(run(&program, &[byte], 0), Ok(expected), "{byte} of {count}");
        }
    }
    // Two instructions for each condition from which the end is too far away.
    let long = any_of_first(2000).unwrap();
    assert!(long.len() > 3700 && long.len() <= LONGEST, "{}", long.len());
    for byte in 0..=255 {
        assert_eq!(run(&long, &[byte], 0), Ok(1), "{byte}");
    }
}

/// Conditions whose labels are both too far away, or only the second one.
#[test]
fn both_ways_of_a_condition_reach_any_distance() {
    for (before, between) in [(300, 300), (300, 0), (0, 300), (253, 0), (254, 0), (255, 0), (252, 1), (10, 243)] {
        let mut program = Assembler::default();
        let [yes, no] = [(); 2].map(|()| program.label());
        program.push(code::LOAD_BYTE, 0);
        program.branch(code::IF_AT_LEAST, 7, yes, no);
        let filler = |program: &mut Assembler, count| (0..count).for_each(|_| program.push(code::RETURN, 3));
        filler(&mut program, before);
        program.place(yes);
        program.push(code::RETURN, 1);
        filler(&mut program, between);
        program.place(no);
        program.push(code::RETURN, 2);
        let program = program.finish().unwrap();
        let ends = [7, 6].map(|byte| run(&program, &[byte], 0));
        assert_eq!(ends, [Ok(1), Ok(2)], "{before} {between}");
    }
}

#[test]
fn programs_are_no_longer_than_the_kernel_takes() {
    assert_eq!(any_of_first(2300), None);
    assert_eq!(any_of_first(1 << 20), None);
}

#[test]
fn a_jump_back_or_to_nowhere_is_no_program() {
    let mut back = Assembler::default();
    let start = back.label();
    back.place(start);
    back.push(code::LOAD_BYTE, 0);
    back.jump(start);
    assert_eq!(back.finish(), None);
    let mut nowhere = Assembler::default();
    let label = nowhere.label();
    nowhere.jump(label);
    assert_eq!(nowhere.finish(), None);
}

#[test]
fn loads_beyond_the_frame_drop_it() {
    let load = |code, k| [Instruction { code, jt: 0, jf: 0, k }, keep_all(9)[0]];
    for (code, count) in [(code::LOAD_WORD, 4), (code::LOAD_HALF, 2), (code::LOAD_BYTE, 1)] {
        assert_eq!(run(&load(code, 10 - count), &[7; 10], 0), Ok(9));
        assert_eq!(run(&load(code, 11 - count), &[7; 10], 0), Ok(0));
        assert_eq!(run(&load(code, u32::MAX - 8192), &[7; 10], 0), Ok(0));
    }
    assert_eq!(run(&load(code::LOAD_WORD, code::ETHER_TYPE), &[], 0x0800), Ok(9));
}

#[test]
fn invalid_programs_are_errors() {
    assert_eq!(run(&[], &[], 0), Err(ProgramError::Length(0)));
    let one = |code, k| [Instruction { code, jt: 0, jf: 0, k }];
    assert_eq!(run(&one(code::JUMP, u32::MAX), &[], 0), Err(ProgramError::End { at: 0 }));
    assert_eq!(run(&one(code::STORE, 16), &[], 0), Err(ProgramError::Memory { at: 0 }));
    assert_eq!(run(&one(0xff, 0), &[], 0), Err(ProgramError::Unknown { at: 0, code: 0xff }));
}
