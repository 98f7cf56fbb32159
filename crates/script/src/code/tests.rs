use super::*;
use recoup_tcp::Info;
use std::collections::HashSet;

const START: Place = Place { line: 7, column: 3 };

/// The output of `code`, or its end: `failed: …` or `error: place: …`.
fn outcome(code: &str) -> String {
    let info = Info { snd_cwnd: 10, rtt: 5500, options: 6, ..Info::default() };
    let mut out = String::new();
    let statements = match parse(code, START) {
        Ok(statements) => statements,
        Err(e) => return format!("error: {}: {}", e.place, e.message),
    };
    if let Err(e) = check(&statements, &mut HashSet::new()) {
        return format!("error: {}: {}", e.place, e.message);
    }
    let mut variables = Variables::new();
    match run(&statements, &info, &mut variables, |_, line| {
        out += &format!("{line};");
        Ok(())
    }) {
        Ok(Outcome::Passed) => out,
        Ok(Outcome::Failed(place, line)) => format!("{out}failed: {place}: {line}"),
        Err(e) => format!("error: {}: {}", e.place, e.message),
    }
}

#[test]
fn expressions_have_pythons_values() {
    for (expression, value) in [
        ("1 + 2 * 3 - 4", "3"),
        ("-7 // 2, -7 % 2, 7 // -2, 7 % -2", "-4 1 -4 -1"),
        ("7 / 2, 4 / 2", "3.5 2.0"),
        ("1 << 4 | 3 & 2 ^ 1", "19"),
        ("~0, -(-3), +4, 0x10", "-1 3 4 16"),
        ("1 < 2 < 3, 1 < 3 < 2, 1 == True, 'a' < 'b'", "True False True True"),
        ("not 0 and 5, 0 or 'x', not not 7, not not not 7", "5 x True False"),
        ("'srtt=%d us, %s%%' % (tcpi_rtt, 'b')", "srtt=5500 us, b%"),
        ("'%x' % 255", "ff"),
        ("abs(-2), min(3, 1, 2), max(1, 2.5), len('abc')", "2 1 2.5 3"),
        ("(tcpi_options & TCPI_OPT_SACK) != 0", "True"),
        ("5000 <= tcpi_rtt <= 20000", "True"),
        ("(1 +\n 2)", "3"),
    ] {
        assert_eq!(outcome(&format!("print({expression})")), format!("{value};"), "{expression}");
    }
}

#[test]
fn values_that_would_take_all_memory_are_refused() {
    let doubled = |statement: &str| outcome(&format!("a = 'x'\n{}", statement.repeat(60)));
    let too_large = "error: 14:5: expected values and lines of at most 10000 bytes";
    assert_eq!(doubled("a = (a, a)\n"), too_large.replace("14:5", "15:9"));
    assert!(doubled("a += a\n").starts_with("error: "));
    let many = |count: usize| (0..count).map(|i| format!("a{i} = 1\n")).collect::<String>();
    assert_eq!(outcome(&many(1000)), "");
    assert_eq!(outcome(&many(1001)), "error: 1007:1: expected at most 1000 variables");
    let long = format!("a = '{}'\n", "x".repeat(9000));
    assert!(outcome(&format!("{long}print(a)")).len() > 9000);
    assert!(outcome(&format!("{long}print(a, a)")).starts_with("error: 8:1: expected values and lines of at most"));
}

#[test]
fn statements_are_run() {
    for (code, result) in [
        ("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd", ""),
        ("\n  assert True; pass\n  print 5\n# no more", "5;"),
        ("cwnd = 7\ncwnd += 3; assert tcpi_snd_cwnd == cwnd", ""),
        ("assert 1 == 1, \\\n  'no'; \\\nprint 5", "5;"),
        ("x = 1 + \\\n 2\nprint(x)", "3;"),
        ("x = 1 << 3; x >>= 1; x //= 3; print(x)", "1;"),
        (
            "\nassert tcpi_snd_cwnd == 11, 'cwnd'",
            "failed: 8:1: assertion failed: tcpi_snd_cwnd == 11 (cwnd); tcpi_snd_cwnd = 10",
        ),
    ] {
        assert_eq!(outcome(code), result, "{code}");
    }
}

#[test]
fn errors_have_places() {
    for (code, error) in [
        ("assert tcpi_snd_cwn == 1", "7:12: unknown name `tcpi_snd_cwn`, did you mean `tcpi_snd_cwnd`?"),
        ("asert 1", "7:5: unknown statement `asert`, did you mean `assert`?"),
        (
            "assert 1 ==\n2",
            "7:16: expected a value (a number, a text, a name such as `tcpi_snd_cwnd`), found the end of the code's line",
        ),
        ("assert 1 \\ 2", "7:14: expected the end of the statement (a new line or `;`), found `\\`"),
        ("assert 1 2", "7:14: expected the end of the statement (a new line or `;`), found `2`"),
        (
            "x += 1",
            "7:5: unknown name `x`, expected a field of TCP_INFO (`tcpi_…`), a constant of Linux's, or a name assigned before",
        ),
        ("print(1 // 0)", "7:11: division by zero"),
        ("print(1 << 200)", "7:11: a number beyond 128 bits"),
        ("print('%d' % (1, 2))", "7:11: more values than the text takes"),
        ("if 1: pass", "7:5: `if` is not supported, expected a statement (`assert …`, `print(…)`, `name = value`)"),
        ("print(sum(1))", "7:11: unknown function `sum`, expected one of: abs, min, max, len"),
    ] {
        assert_eq!(outcome(code), format!("error: {error}"), "{code}");
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for code in [
        format!("print({}1{})", "(".repeat(5000), ")".repeat(5000)),
        format!("print({}1)", "-".repeat(50_000)),
        format!("print({}1)", "not ".repeat(50_000)),
        format!("print({}1)", "1 + ".repeat(50_000)),
        format!("print({}1)", "1 and ".repeat(50_000)),
        format!("print({}1)", "abs(".repeat(50_000)),
    ] {
        let result = outcome(&code);
        assert!(result.starts_with("error: 7:") || result == "True;" || result == "False;", "{result}");
    }
}
