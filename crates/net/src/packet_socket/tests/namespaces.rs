//! Rings in other namespaces, and errors: unknown names and missing rights.

use super::*;
use crate::{NamespaceTarget, interfaces};
use rustix::thread::{CapabilitySet, capabilities, gettid, set_capabilities};
use std::{os::unix::process::CommandExt, process::Command};

#[test]
fn a_namespace_is_entered_by_its_file_and_by_a_process_in_it() {
    let Some(pair) = Pair::new() else { return };
    let thread = pair.left.run(gettid).unwrap().as_raw_nonzero();
    let file = format!("/proc/self/task/{thread}/ns/net");
    let mut process = pair.left.run(|| Command::new("sleep").arg("60").spawn().unwrap()).unwrap();
    let targets = [file.clone(), process.id().to_string()].map(|text| text.parse::<NamespaceTarget>().unwrap());
    assert_eq!(targets, [NamespaceTarget::File(file.into()), NamespaceTarget::Process(process.id())]);
    for target in targets {
        let joined = Namespace::join(&target).unwrap();
        let list = joined.run(interfaces).unwrap().unwrap();
        let names: Vec<_> = list.iter().map(|i| (i.name.as_str(), i.is_up, i.is_loopback(), i.framing())).collect();
        assert_eq!(names, [("lo", true, true, Framing::Ethernet), (LEFT.0, true, false, Framing::Ethernet)]);
        let mut ring = joined.run(|| PacketRing::open(Some(LEFT.0), &PacketSocketOptions::default())).unwrap().unwrap();
        // The thread in the namespace ends, and the ring stays there.
        drop(joined);
        pair.right_ring().send(&frame(LEFT.1, EXPERIMENT, &[1; 50])).unwrap();
        read_until(&mut ring, |frames| frames.iter().any(|frame| experiment(frame).is_some()));
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn errors_name_what_exists() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => return skip(e),
    };
    let open = |name: &'static str| {
        let opened = namespace.run(move || PacketRing::open(Some(name), &PacketSocketOptions::default()));
        opened.unwrap().unwrap_err().to_string()
    };
    if let Err(e) = namespace.run(|| Netlink::open()?.add_veth([LEFT, RIGHT], None)).unwrap() {
        return skip(e);
    }
    for (name, near) in [("rigth", ", did you mean `right`?"), ("eth0", ""), ("", ""), ("a_name_that_is_too_long", "")]
    {
        assert_eq!(open(name), format!("no interface {name}: expected lo, right or left{near}"));
    }
    for (target, expected) in [
        (
            "4194304999",
            "no network namespace of process 4194304999: it does not run, expected the number of a process that runs",
        ),
        (
            "/nowhere/net",
            "no network namespace /nowhere/net: there is no such file, expected a file like /run/netns/NAME or /proc/PID/ns/net",
        ),
        (
            "/proc/self/status",
            "no network namespace /proc/self/status: the file is no network namespace, expected a file like /run/netns/NAME or /proc/PID/ns/net",
        ),
        (
            "/proc/self/ns/uts",
            "no network namespace /proc/self/ns/uts: the file is no network namespace, expected a file like /run/netns/NAME or /proc/PID/ns/net",
        ),
    ] {
        let target: NamespaceTarget = target.parse().unwrap();
        assert_eq!(Namespace::join(&target).unwrap_err().to_string(), expected);
    }
    let missing = NamespaceTarget::Name("no such name".into());
    let error = Namespace::join(&missing).unwrap_err().to_string();
    let begin = "no network namespace no such name: it has no name, expected ";
    assert!(error.starts_with(begin) && error.ends_with("a file or the number of a process"), "{error}");
}

#[test]
fn a_process_of_another_user_takes_one_more_right() {
    const NOBODY: u32 = 65_534;
    let mut command = Command::new("sleep");
    let Ok(mut process) = command.arg("60").uid(NOBODY).spawn() else {
        return skip("cannot start a process of another user");
    };
    let target = NamespaceTarget::Process(process.id());
    let joined = thread::spawn(move || {
        let mut own = capabilities(None).unwrap();
        own.effective.remove(CapabilitySet::SYS_PTRACE);
        set_capabilities(None, own).unwrap();
        Namespace::join(&target).unwrap_err().to_string()
    });
    let (error, program) = (joined.join().unwrap(), std::env::current_exe().unwrap());
    process.kill().unwrap();
    process.wait().unwrap();
    let expected = format!(
        "cannot enter the network namespace of process {}: expected the capability CAP_SYS_PTRACE (its process is another user's) and CAP_SYS_ADMIN: run it as root, or grant it once by `sudo setcap cap_net_raw,cap_sys_admin,cap_sys_ptrace+ep {}`",
        process.id(),
        program.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn missing_rights_are_named_with_the_command_that_grants_them() {
    let program = std::env::current_exe().unwrap();
    let errors = thread::spawn(|| {
        let mut own = capabilities(None).unwrap();
        own.effective.remove(CapabilitySet::NET_RAW | CapabilitySet::SYS_ADMIN);
        set_capabilities(None, own).unwrap();
        let capture = PacketRing::open(Some("lo"), &PacketSocketOptions::default()).unwrap_err();
        let join = Namespace::join(&NamespaceTarget::File("/proc/self/ns/net".into())).unwrap_err();
        [capture, join].map(|e| e.to_string())
    });
    let [capture, join] = errors.join().unwrap();
    assert_eq!(
        capture,
        format!(
            "cannot capture on lo: expected the capability CAP_NET_RAW (and CAP_SYS_ADMIN for other network namespaces): run it as root, or grant it once by `sudo setcap cap_net_raw+ep {}`",
            program.display()
        )
    );
    assert_eq!(
        join,
        format!(
            "cannot enter the network namespace /proc/self/ns/net: expected the capability CAP_SYS_ADMIN: run it as root, or grant it once by `sudo setcap cap_net_raw,cap_sys_admin+ep {}`",
            program.display()
        )
    );
}
