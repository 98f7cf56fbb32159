//! Predictions for other parameters of loss detection, against the same flows simulated with them.

mod capture;

use capture::{Captured, capture, path};
use recoup_recovery::parameters::Parameters;
use recoup_recovery::rtt::Factor;
use recoup_recovery::{Mechanisms, Profile};
use recoup_tcp::flow::Host;
use recoup_trace::study::Model;
use recoup_whatif::parameters::{
    ChangeKind, Grid, Instances, LeftOut, StudiedSender, Subject, study,
};

fn profile(name: &str) -> Profile {
    name.parse().unwrap()
}

fn studied(
    captured: &Captured,
    profile: &Profile,
    instances: &Instances,
) -> Result<StudiedSender, LeftOut> {
    study(
        &Subject {
            packets: &captured.packets,
            sender: Host::Server,
            profile,
            retransmissions: &captured.rows,
            lists_events: true,
        },
        instances,
    )
}

fn k(factor: u32) -> Parameters {
    Parameters {
        rttvar_factor: Some(Factor::whole(factor)),
        ..Parameters::default()
    }
}

fn with(mechanisms: &Mechanisms, parameters: Parameters) -> Mechanisms {
    let mut mechanisms = *mechanisms;
    parameters.apply(&mut mechanisms);
    mechanisms
}

#[test]
fn a_lost_tail_is_detected_by_the_rto_of_the_instance() {
    let grid = Grid {
        rttvar_factors: [2, 4, 6].map(Factor::whole).into(),
        ..Grid::default()
    };
    for name in ["linux-2.4", "windows-xp", "solaris-10", "linux-3.17"] {
        let profile = profile(name);
        let run = |parameters| {
            let mechanisms = with(profile.mechanisms(), parameters);
            capture(&path(200, "tail:1", 10), &profile, &mechanisms, 10, 0)
        };
        let own = run(Parameters::default());
        let found = studied(&own, &profile, &grid.instances()).unwrap();
        assert_eq!((found.timeouts, found.unmeasured), (1, 0), "{name}");
        for (instance, factor) in [2, 4, 6].into_iter().enumerate() {
            let truth = own.fct.as_nanos() as i64 - run(k(factor)).fct.as_nanos() as i64;
            let change = &found.changes[instance];
            for model in Model::ALL {
                let error = (change.saved(model) - truth).abs();
                assert!(
                    error <= 1_000_000,
                    "{name}, k = {factor}: {change:?}, {truth}"
                );
            }
            assert_eq!(change.is_none(), factor == 4, "{name}, k = {factor}");
            let moved = change.events(ChangeKind::TimeoutMoves);
            assert_eq!(moved, u32::from(factor != 4), "{name}, k = {factor}");
        }
    }
}
