use super::*;
use crate::event::{Event, Judgement};
use crate::kept::Kept;
use crate::recent::Recent;
use crate::testing::{begun, connection, ms, open_row, repaired, with_rows};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Color;
use recoup_trace::finding::{Evidence, Retransmission, Verdict};
use recoup_trace::read::DeviceFrame;
use std::time::Duration;

/// When the screen is drawn: 30 s after the connections began.
fn now() -> Instant {
    begun() + Duration::from_secs(30)
}

/// A segment of the server to client 30007, or an ACK of it, of which the headers were captured.
fn packet(is_data: bool, seq: u32, len: u16) -> Vec<u8> {
    let (client, server) = ([198, 51, 100, 1], [192, 0, 2, 1]);
    let [src, dst] = if is_data { [server, client] } else { [client, server] };
    let [src_port, dst_port] = if is_data { [80, 30_007] } else { [30_007, 80_u16] };
    let mut bytes = vec![0x45, 0];
    bytes.extend((40 + len).to_be_bytes());
    bytes.extend([0, 1, 0, 0, 64, 6, 0, 0]);
    bytes.extend(src);
    bytes.extend(dst);
    bytes.extend(src_port.to_be_bytes());
    bytes.extend(dst_port.to_be_bytes());
    let [seq, ack] = if is_data { [seq, 1] } else { [1, seq] };
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    bytes
}

/// Frames of nine seconds: a segment every 50 ms, each acknowledged after 60 ms. That of 5 s is lost, and retransmitted after 400 ms.
fn keep_frames(kept: &mut Kept, lost: &Retransmission) {
    let mut frames = Vec::new();
    for i in 0..180_u32 {
        let seq = 1 + 1000 * i;
        let at = begun() + Duration::from_secs(21) + ms(50 * u64::from(i));
        frames.push((at, packet(true, seq, 1000)));
        let is_held_back = (100..108).contains(&i);
        let acknowledged = if is_held_back { 100_001 } else { seq + 1000 };
        frames.push((at + ms(60), packet(false, acknowledged, 0)));
    }
    frames.push((lost.at, packet(true, lost.seq.0, 1000)));
    frames.sort_by_key(|(at, _)| *at);
    for (at, data) in &frames {
        let on_wire = usize::from(u16::from_be_bytes([data[2], data[3]]));
        kept.push(&DeviceFrame { at: *at, network: Some(0x0800), interface: 1, outgoing: None, data, on_wire });
    }
}

/// Three open connections: one of them retransmitted twice, and lost time once.
fn shared() -> Arc<Shared> {
    let lossy = connection(7, 30);
    let open = Retransmission { seq: recoup_wire::SeqNumber(100_001), ..open_row(&lossy, 19, ms(26_400)) };
    let lost = repaired(open);
    let spurious = Retransmission {
        verdict: Verdict::Spurious,
        evidence: Evidence::Dsack,
        cost: None,
        ..open_row(&lossy, 40, ms(27_000))
    };
    let mut kept = Kept::new(10 << 20, Duration::from_secs(60));
    keep_frames(&mut kept, &lost);
    let shared = Shared::new("eth0".into(), kept);
    let surveyed = vec![
        (connection(3, 30), Vec::new()),
        (with_rows(lossy.clone(), &[lost, spurious]), vec![lost, spurious]),
        (connection(12, 9), Vec::new()),
    ];
    let events = [
        Event::Retransmission { row: open, decided: false },
        Event::Verdict { row: lost, decided: true, was: Judgement::of(&open, false) },
        Event::Episode { row: lost, cost: lost.cost.unwrap(), was: None },
        Event::Retransmission { row: spurious, decided: true },
    ];
    {
        let mut status = shared.status();
        status.survey = Some(Arc::new(Recent::default().survey(now(), surveyed)));
        status.settled = now() + ms(1_300);
        status.open = 3;
        (status.counts.frames, status.counts.packets) = (6_210, 6_210);
        events.iter().for_each(|event| status.totals.hear(event));
    }
    shared.keep(&events, now());
    Arc::new(shared)
}

/// The screen of this size after these keys, and two updates, between which 500 packets came in a second.
fn screen(size: (u16, u16), shared: Arc<Shared>, keys: &[KeyCode]) -> (Screen, Terminal<TestBackend>) {
    let mut screen = Screen::new(Arc::clone(&shared), Look { colors: false });
    screen.update(now());
    {
        let mut status = shared.status();
        status.counts.packets += 500;
        status.bytes += 500_000;
    }
    screen.update(now() + Duration::from_secs(1));
    for key in keys {
        assert!(screen.key(KeyEvent::from(*key)), "{key:?} ends the program");
    }
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    (screen, terminal)
}

fn text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let width = usize::from(buffer.area.width);
    let lines = buffer.content().chunks(width);
    let line = |cells: &[ratatui::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect::<String>();
    lines.map(|cells| line(cells).trim_end().to_owned() + "\n").collect()
}

fn drawn(size: (u16, u16), keys: &[KeyCode]) -> String {
    text(&screen(size, shared(), keys).1)
}

/// Compares a whole screen with the text of this name beside the tests.
fn check(name: &str, drawn: &str) {
    let path = format!("{}/src/screen/tests/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("RECOUP_UPDATE_SCREENS").is_some() {
        std::fs::write(&path, drawn).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(drawn, expected, "{name}: RECOUP_UPDATE_SCREENS=1 writes the texts");
}

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

#[test]
fn the_overview_shows_the_last_minute() {
    check("overview-80", &drawn(SMALL, &[]));
    check("overview-120", &drawn(LARGE, &[]));
}

#[test]
fn connections_are_one_line_or_two() {
    check("connections-80", &drawn(SMALL, &[KeyCode::Char('2'), KeyCode::Down]));
    check("connections-120", &drawn(LARGE, &[KeyCode::Char('2'), KeyCode::Char('b')]));
}

#[test]
fn findings_come_with_their_times() {
    check("findings-80", &drawn(SMALL, &[KeyCode::Char('3')]));
}

#[test]
fn one_connection_has_its_text_and_its_diagram() {
    let keys = [KeyCode::Char('2'), KeyCode::Enter];
    check("one-80", &drawn(SMALL, &keys));
    check("one-120", &drawn(LARGE, &keys));
    let zoomed = [&keys[..], &[KeyCode::Left, KeyCode::Char('+'), KeyCode::Char('+'), KeyCode::Char('d')]].concat();
    check("diagram-80", &drawn(SMALL, &zoomed));
}

#[test]
fn the_help_names_the_keys() {
    check("help-80", &drawn(SMALL, &[KeyCode::Char('?')]));
}

#[test]
fn orders_and_filters_choose_connections() {
    let ids = |keys: &str| {
        let keys: Vec<KeyCode> = "2".chars().chain(keys.chars()).map(KeyCode::Char).collect();
        let text = drawn(LARGE, &keys);
        let rows = text.lines().filter_map(|line| line.get(2..)?.strip_prefix('#'));
        rows.map(|row| row.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids("")[0], "7", "it lost most");
    assert_eq!(ids("r")[0], "7");
    assert_eq!(ids("/:3000"), ["7", "3"]);
    assert_eq!(ids("/30012"), ["12"]);
    assert!(ids("/nowhere").is_empty());
}

#[test]
fn what_the_kernel_dropped_is_told_with_and_without_colors() {
    for colors in [false, true] {
        let shared = shared();
        shared.status().dropped = 1_234;
        let mut screen = Screen::new(shared, Look { colors });
        screen.update(now());
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let text = text(&terminal);
        assert!(text.lines().nth(1).unwrap().starts_with("! 1,234 frames dropped by the kernel"), "{text}");
        let is_red = terminal.backend().buffer().content().iter().any(|cell| cell.fg == Color::Red);
        assert_eq!(is_red, colors);
        let is_plain = terminal.backend().buffer().content().iter().all(|cell| cell.fg == Color::Reset);
        assert_eq!(is_plain, !colors);
    }
}

#[test]
fn paused_findings_stay_as_they_are() {
    let (mut screen, mut terminal) = screen(SMALL, shared(), &[KeyCode::Char('3'), KeyCode::Char('p')]);
    let before = text(&terminal);
    assert!(before.contains("PAUSED"), "{before}");
    let note = |text: &str| [Event::Note { text: text.into() }];
    screen.shared.keep(&note("eth0 is down"), now());
    screen.update(now() + Duration::from_secs(2));
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    assert!(!text(&terminal).contains("eth0 is down"));
    screen.key(KeyEvent::from(KeyCode::Char(' ')));
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    assert!(text(&terminal).contains("note: eth0 is down"));
}

#[test]
fn the_end_of_watching_is_told() {
    let shared = shared();
    shared.status().ended = Some("eth0: no interface is left to watch".into());
    let (_, terminal) = screen(SMALL, shared, &[]);
    assert!(text(&terminal).contains("! Watching has ended: eth0: no interface is left to watch. q ends"));
}

#[test]
fn q_and_control_c_end_the_program() {
    let (mut screen, _) = screen(SMALL, shared(), &[]);
    assert!(!screen.key(KeyEvent::from(KeyCode::Char('q'))));
    assert!(!screen.key(KeyEvent::new(KeyCode::Char('c'), ratatui::crossterm::event::KeyModifiers::CONTROL)));
}

/// No size makes it panic, and each view fits into small terminals.
#[test]
fn any_size_is_drawn() {
    for width in [1, 20, 39, 40, 60, 109, 110, 300] {
        for height in [1, 5, 9, 10, 12, 60] {
            for keys in [&[][..], &['2'], &['3'], &['2', '\n'], &['2', '\n', 'd'], &['?'], &['s']] {
                let code = |key: &char| if *key == '\n' { KeyCode::Enter } else { KeyCode::Char(*key) };
                drawn((width, height), &keys.iter().map(code).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn frames_are_saved_and_no_file_is_replaced_without_asking() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.pcapng");
    let typed = |text: &str| text.chars().map(KeyCode::Char).collect::<Vec<_>>();
    let erase = [KeyCode::Backspace; 64];
    let name = typed(path.to_str().unwrap());
    let save = |seconds: &str| {
        let enter = [KeyCode::Enter];
        let dialog = [KeyCode::Char('s')];
        [&typed("2")[..], &enter, &dialog, &erase, &typed(seconds), &enter, &erase, &name, &enter].concat()
    };
    let drawn = drawn((160, 24), &save("60"));
    assert!(drawn.contains("Saved 361 frames in /"), "{drawn}");
    let all = std::fs::read(&path).unwrap();
    let mut reader = recoup_trace::read::Reader::new("saved", &all[..]).unwrap();
    assert_eq!(std::iter::from_fn(|| reader.next().map(|packet| packet.at)).count(), 361);

    let (mut asked, mut terminal) = screen((160, 24), shared(), &save("2"));
    assert!(text(&terminal).contains("! The file exists. Replace it? y or n"), "{}", text(&terminal));
    assert_eq!(std::fs::read(&path).unwrap(), all);
    asked.key(KeyEvent::from(KeyCode::Char('n')));
    asked.key(KeyEvent::from(KeyCode::Esc));
    assert_eq!(std::fs::read(&path).unwrap(), all);
    let (mut asked, _) = screen((160, 24), shared(), &save("2"));
    asked.key(KeyEvent::from(KeyCode::Char('y')));
    terminal.draw(|frame| asked.draw(frame)).unwrap();
    assert!(text(&terminal).contains("Saved "), "{}", text(&terminal));
    assert!(std::fs::read(&path).unwrap().len() < all.len() / 3, "two seconds of nine");

    let (_, terminal) = screen(SMALL, shared(), &save("none"));
    assert!(text(&terminal).contains("! expected a number of seconds from 1 to 86400"), "{}", text(&terminal));
    let missing = path.join("below").join("a-file");
    let keys = [&save("60")[..save("60").len() - 1], &typed("/below"), &[KeyCode::Enter]].concat();
    let drawn = text(&screen((160, 24), shared(), &keys).1);
    assert!(drawn.contains("Nothing is saved: cannot write"), "{drawn} {missing:?}");
}
