use super::*;

#[test]
fn verdicts_are_as_expected() {
    let populations = Populations::of_seed(1).unwrap();
    for id in Id::ALL {
        let sheet = sheet_of(id, &populations);
        println!("{}", sheet.table);
        crate::claims::assert_known(
            NAME,
            id.name(),
            crate::experiment::Effort::Full,
            &sheet.claims,
        );
        crate::assert_fits_a_terminal(&sheet.table);
    }
    assert_eq!(populations.report.senders.len(), System::ALL.len());
}

#[test]
fn another_seed_has_other_flows_and_the_same_systems() {
    let [one, other] = [1, 2].map(|seed| Populations::simulate(200, seed).unwrap());
    let again = Populations::simulate(200, 1).unwrap();
    assert_eq!(one.report, again.report);
    assert_ne!(one.report, other.report);
    let systems = |of: &Populations| -> Vec<String> {
        let senders = of.report.senders.iter();
        senders.map(|sender| sender.sender.clone()).collect()
    };
    assert_eq!(systems(&one), systems(&other));
    // All systems' connections are there, and no client counts as a sender.
    assert_eq!(one.report.capture.connections, 4 * 200);
    assert_eq!(one.report.parameters.len(), 4);
}

#[test]
fn figures_are_also_points() {
    let populations = Populations::simulate(200, 1).unwrap();
    for (id, header) in [
        (Id::Tables, "figure,sender,senders,retransmissions,"),
        (Id::Fig1, "figure,system,panel,value,share"),
        (Id::Fig2, "figure,system,panel,value,share"),
        (Id::Fig3, "figure,system,panel,value,share"),
    ] {
        let sheet = sheet_of(id, &populations);
        assert!(sheet.csv.starts_with(header), "{}", sheet.csv);
        assert!(sheet.json["study"]["senders"].is_array());
        let points = sheet.json["points"].as_array().map_or(0, Vec::len);
        assert_eq!(points > 20, id != Id::Tables, "{id:?}: {points}");
        if id == Id::Fig2 {
            for system in [
                "Windows 2000, XP",
                "Linux 2.4",
                "Solaris 10",
                "FreeBSD 5, Mac OS X",
            ] {
                assert!(sheet.csv.contains(system), "{system}");
            }
        }
    }
}
