//! What makes no sense is refused in one line, with exit code 2.

mod common;

use common::{anabranch, interfaces, isolated, refused};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn bad_links_and_outputs() {
    for (arguments, part) in [
        ("serve --pcap -", "take `anabranch capture`"),
        ("serve --stats-json -", "cannot go to standard output"),
        (
            "serve --gateway fe80::1%ana1 --address fe80::2/64 --peer-address fe80::9/64",
            "write fe80::1%ana0",
        ),
        ("serve --gateway 10.99.0.1%ana0", "write an address like"),
        ("serve --gateway fd00::1%ana0", "write fd00::1 alone"),
        ("serve --gateway fe80::1", "choose a router there"),
        ("serve --dns fe80::53%7", "write fe80::53%ana0"),
        ("serve --dns 224.0.0.1", "no other host"),
        ("serve --dns ::", "no other host"),
        ("serve --kernel fe80::1 --tcp-echo 7777", "write which, like fe80::1%eth0"),
        ("serve --kernel fe80::1%ana-no --tcp-echo 7777", "`ip link` lists"),
        ("serve --kernel", "name a service"),
        ("serve --mtu 1279 --address fd00::2/64 --peer-address fd00::1/64", "needs 1280"),
        ("serve --mtu 576 --add-address fd00::2/64", "too little for fd00::2/64"),
        ("serve --vlan 0", "0 is not in 1..=4094"),
        ("serve --vlan 4095", "4095 is not in 1..=4094"),
        ("serve --vlan 5 --peer-address 10.99.0.1/24", "cannot be used with"),
        ("serve --mac 02:00:00:00:00", "like 02:00:00:00:00:01"),
        ("serve --mac 03:00:00:00:00:01", "address of one station"),
        ("serve --xdp lo --mac 02:00:00:00:00:01", "--mac is not for --xdp"),
        ("serve --xdp lo --vlan 5", "--vlan is not for --xdp"),
        (
            "tunnel --proxy socks5://127.0.0.1:1 --mtu 576 --peer-address fd00::1/64",
            "too small for IPv6",
        ),
        ("tunnel --proxy socks5://localhost:1080", "not its name"),
        ("tunnel --proxy socks5://[fe80::1]:1080", "write which"),
        ("lab validate --draw 0", "0 is not in 1..=1000"),
        ("lab reproduce thekkath1992 --out /proc/x", "name one that can be written"),
    ] {
        let line = refused(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
}

/// Each names what was asked for wrongly, and what can be asked for.
#[test]
fn the_cause_is_named() {
    for (arguments, part) in [
        ("capture tcp port 80 -w web.pcapng", "options stand before the filter"),
        ("capture tcp and --count 5", "options stand before the filter"),
        // Before costs are looked for, which takes seconds.
        ("simulate --calibration /nowhere --window 0", "a window of 0"),
        ("simulate --calibration /nowhere --connections 2000000", "give 1 to 1000000"),
        ("simulate --calibration /nowhere --short-lived 300", "give fewer"),
        ("simulate --calibration /nowhere --think 1e300", "--think 1e300: give 0 to 1e12"),
        ("simulate --rate nan/s", "--rate nan/s: write"),
        ("simulate --rate 0/s", "--rate 0/s: write"),
        ("bench soak --threads 2-1000", "256 at most"),
        ("bench soak --fault delay=5000s", "an hour at most"),
        ("bench idle --processors 0", "processors must be at least 1"),
        ("bench bulk --repeat 0", "repeat must be at least 1"),
        ("bench bulk --active 0", "active must be from 1"),
        (
            "tunnel --proxy socks5://127.0.0.1:1 --organization group-locks --busy-poll 1",
            "--busy-poll means nothing to group-locks",
        ),
    ] {
        let line = refused(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
        assert!(!line.contains("repeat") || arguments.contains("repeat"), "{line}");
        assert!(!line.contains("active") || arguments.contains("active"), "{line}");
    }
}

/// A calibration takes minutes, and a model was written by somebody.
#[test]
fn what_is_read_is_not_written_over() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("read.toml");
    std::fs::write(&file, "name = 1").expect("written");
    let link = place.path().join("link");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let (file, link) = (file.display().to_string(), link.display());
    for arguments in [
        format!("model {file} --json {file}"),
        format!("model {file} --svg {link}"),
        format!("plan --load tcp,rr,1k,connections --calibration {file} --json {file}"),
        format!("simulate --calibration {file} --json {link}"),
        format!("simulate --costs {file} --svg {file}"),
        format!("simulate --arrivals trace:{file} --json {file}"),
        format!("lab validate --calibration {file} --json {file}"),
        format!("lab validate --calibration {file} --keep {file}"),
    ] {
        let line = refused(&arguments);
        assert!(line.contains("give each a file of its own"), "{arguments}: {line}");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "name = 1");
    }
}

#[test]
fn bad_arguments() {
    for (arguments, part) in [
        ("serv", "unrecognized subcommand 'serv'"),
        ("serve --no-such-thing", "unexpected argument '--no-such-thing'"),
        ("serve --http", "a value is required for '--http <PORT>'"),
        ("serve --http 0", "0 is not in 1..=65535"),
        ("serve --http 65536", "65536 is not in 1..=65535"),
        ("serve --root /tmp", "--http <PORT>"),
        ("serve --address 10.99.0.2", "like 10.99.0.2/24"),
        ("serve --address ::1/64", "choose an address like fd00::2"),
        ("serve --address 10.99.0.255/24", "broadcast address"),
        ("serve --address 10.99.0.1/24", "are both 10.99.0.1"),
        ("serve --address 10.98.0.2/24", "are not in one network"),
        ("serve --gateway 10.98.0.1", "choose a router there"),
        ("serve --gateway 10.99.0.2", "choose a router there"),
        ("serve --gateway 10.99.0.255", "choose a router there"),
        ("serve --add-address 10.99.0.1/24", "give each address once"),
        ("serve --add-address 10.1.0.2/24 --add-address 10.1.0.2/16", "give each address once"),
        ("serve --add-address 10.1.0.0/24", "the network itself"),
        ("serve --route 10.1.0.0/16", "is not a route"),
        (
            "serve --organization none",
            "[possible values: uniprocessor, global-lock, message-parallel, group-locks",
        ),
        ("serve --organization uniprocessor --processors 2", "runs on one processor"),
        ("serve --organization uniprocessor --groups 4", "choose from group-locks, group-threads"),
        ("serve --organization engines --lock none", "adaptive"),
        ("serve --burst 65", "65 is not in 1..=64"),
        ("serve --processors 0", "0 is not in 1..=256"),
        ("serve --mtu 67", "67 is not in 68..=65521"),
        ("serve --fault lose=1%", "no fault is called `lose`"),
        ("serve --fault loss=200%", "how much loss"),
        ("serve --fault loss=1%,loss=2%", "loss is given twice"),
        ("serve --fault=", "it names no fault"),
        ("serve --http abc", "write a whole number"),
        ("serve --gateway gw", "write an address like 10.99.0.1"),
        ("serve --kernel 192.0.2.1 --tcp-echo 7777", "give --kernel an address of this host"),
        ("serve --http 80 --tcp-echo 80", "port 80 is asked for twice, by --http and --tcp-echo"),
        ("serve --udp-echo 7 --udp-dial 7", "port 7 is asked for twice"),
        ("serve --http 80 --root /does/not/exist", "name a readable directory"),
        ("serve --http 80 --root /proc/version", "name a readable directory"),
        ("serve --stats-json /does/not/exist", "name a file that can be made"),
        ("serve --pcap /", "name a file that can be made"),
        ("serve --pcap /tmp/ana-same --stats-json /tmp/ana-same", "both name /tmp/ana-same"),
        ("serve --http -1", "--http cannot be negative, and -1 is"),
        ("serve --processors -1", "--processors cannot be negative"),
    ] {
        let line = refused(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
}

#[test]
fn bad_arguments_of_other_commands() {
    for (arguments, part) in [
        ("simulate --rate -5/s", "--rate cannot be negative, and -5/s is"),
        ("demo --mebibytes 0", "0 is not in 1..=4096"),
        ("demo --seconds 60", "--seconds is not 0 to 10"),
        ("calibrate --output /proc/none/x", "name a file that can be made"),
        ("calibrate --output /tmp/ana-missing/x.toml", "name a file that can be made"),
        ("calibrate --output /", "name a file that can be made"),
        ("lab validate --points 0", "points must be from 1"),
        ("lab validate --samples 0", "samples must be from 1"),
        ("lab validate --draw 99999999999", "is not in 1..=1000"),
        ("lab validate --calibration /x --keep ana-kept --json ana-kept", "both name ana-kept"),
        ("lab validate --keep ana-kept", "--calibration"),
        ("lab validate --calibration /does/not/exist", "run `anabranch calibrate`"),
        ("lab validate --calibration /proc/version", "not a calibration"),
        ("bench udp-rr --peer stack", "use --peer driver"),
        ("bench", "`anabranch bench` lacks what to do: choose from bulk, rr, crr"),
        ("lab", "`anabranch lab` lacks what to do: choose from list, run"),
        ("bench bulk --processors 2", "uniprocessor runs on one processor, not on 2"),
        ("bench bulk --organization group-locks --processors 1000000", "from 1 to 1024"),
        ("tunnel --proxy socks5://127.0.0.1:0", "nothing listens at port 0"),
        ("doctor --really", "unexpected argument '--really'"),
    ] {
        let line = refused(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
}

#[test]
fn what_brings_addresses_is_checked() {
    for (arguments, part) in [
        ("serve --dhcp --address 10.99.0.2/24", "cannot be used with"),
        ("serve --dhcp --gateway 10.99.0.1", "cannot be used with"),
        ("serve --dhcp --xdp eth0", "give --address, or take a TAP device"),
        ("serve --slaac --xdp eth0", "--add-address, or use --tap"),
        ("serve --slaac --mtu 1200", "choose 1280 or more"),
        ("serve --kernel --slaac", "cannot be used with"),
        ("serve --dhcp --add-address 10.99.0.1/24", "give each address once"),
    ] {
        let line = refused(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
}

#[test]
fn a_refused_calibration_makes_no_directory() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("missing").join("x.toml");
    refused(&format!("calibrate --output {}", path.display()));
    assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 0);
}

#[test]
fn the_version_is_the_commands() {
    let output = anabranch("--version").output().expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text, format!("anabranch {}\n", env!("CARGO_PKG_VERSION")));
}

/// Hundredths of a second that a process has run (proc_pid_stat(5), field 14).
fn user_ticks(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().nth(11).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Ctrl-C in the middle of a bench leaves the figures of the last one.
#[test]
fn an_interrupted_bench_keeps_the_old_figures() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("rows.json");
    std::fs::write(&path, "old").expect("written");
    let arguments = format!("bench rr --seconds 60 --repeat 1 --json {}", path.display());
    let mut child = anabranch(&arguments).spawn().expect("the command runs");
    let give_up = std::time::Instant::now() + common::PATIENCE;
    while user_ticks(child.id()) < 20 {
        assert!(std::time::Instant::now() < give_up, "it does not begin");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().expect("a signal");
    child.wait().expect("a child");
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "old");
    assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 1);
}

#[test]
fn more_processors_than_there_are_are_told() {
    let arguments =
        "bench bulk --processors 999 --organization group-locks --seconds 0.01 --repeat 1";
    let mut child = anabranch(arguments).stderr(Stdio::piped()).spawn().expect("the command runs");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let line = stderr.lines().next().expect("a line").expect("text");
    assert!(line.contains("999 processors are asked for, and this machine has"), "{line}");
    child.kill().expect("a signal");
    child.wait().expect("a child");
}

/// Where the system gave the threads and no memory for their signal stacks, the process ended by a signal.
#[test]
fn more_threads_than_the_system_has_are_refused() {
    let limited =
        "ulimit -S -u 5000 && exec \"$0\" bench rr --organization group-threads --groups 6000";
    let mut command = std::process::Command::new("bash");
    let output = command.args(["-c", limited, env!("CARGO_BIN_EXE_anabranch")]).output();
    let output = output.expect("bash runs");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_ne!(output.status.code(), Some(0), "{stderr}");
    let errors: Vec<&str> = stderr.lines().filter(|line| !line.contains("busy machine")).collect();
    let [line] = errors[..] else { panic!("{stderr}") };
    assert!(line.contains("group-threads starts 6000 threads, and the system has 4"), "{line}");
    assert!(line.contains("fewer --groups"), "{line}");
}

#[test]
fn a_busy_machine_is_told() {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..processors {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let output = anabranch("bench rr --seconds 0.5 --repeat 1").output();
        stop.store(true, Ordering::Relaxed);
        let errors = String::from_utf8(output.expect("the command runs").stderr).expect("text");
        assert!(errors.contains("other programs used") && errors.lines().count() == 1, "{errors}");
    });
}

#[test]
fn what_the_device_refuses() {
    isolated(|| {
        let lines = [
            ("serve --tap a/b", "cannot be an interface name"),
            ("serve --tap sixteen-bytes-xx", "cannot be an interface name"),
            ("serve --tap lo", "there is an interface `lo` already"),
        ];
        for (arguments, part) in lines {
            let line = refused(arguments);
            if line.contains("/dev/net/tun") || line.contains("not allowed to make") {
                println!("skipped: {line}");
                return;
            }
            assert!(line.contains(part), "{arguments}: {line}");
            assert_eq!(interfaces(), ["lo"], "{arguments}");
        }
    });
}

#[test]
fn a_refusal_leaves_no_files() {
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let (stats, pcap) = (place.path().join("stats"), place.path().join("pcap"));
        refused(&format!(
            "serve --tap lo --stats-json {} --pcap {}",
            stats.display(),
            pcap.display()
        ));
        assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 0);
    });
}

/// A capture is made only once there is a server: what is in the file stays.
#[test]
fn a_refused_capture_keeps_the_old_one() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("old.pcapng");
    std::fs::write(&path, "old").expect("written");
    let line = refused(&format!("capture --from ana-none --write {}", path.display()));
    assert!(line.contains("no server of yours runs"), "{line}");
    assert_eq!(std::fs::read_to_string(&path).expect("text"), "old");
}

#[test]
fn help_has_defaults_and_examples() {
    for (arguments, parts) in [
        ("--help", ["anabranch demo", "doctor", "serve"]),
        ("serve --help", ["[default: 10.99.0.2/24]", "Examples:", "--udp-dial <PORT>"]),
        ("demo --help", ["[default: 256]", "SHA-256", "Exit code"]),
        ("doctor --help", ["Exit code", "mends", "TAP"]),
    ] {
        let output = anabranch(arguments).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        let text = String::from_utf8(output.stdout).expect("text");
        for part in parts {
            assert!(text.contains(part), "{arguments} does not say {part}: {text}");
        }
    }
}

#[test]
fn doctor_names_what_there_is() {
    let output = anabranch("doctor").output().expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("text");
    for part in ["kernel", "processors", "TAP driver", "CAP_NET_ADMIN", "anabranch serve"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(matches!(output.status.code(), Some(0 | 1)));
}

/// What `demo` says, with these words more.
fn demo(more: &str) -> String {
    let arguments = format!("demo --mebibytes 4 --requests 200 --connections 50 {more}");
    let output = anabranch(&arguments).output().expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    text
}

#[test]
fn demo_ends_with_a_table_and_a_sentence() {
    let text = demo("--seconds 0.02");
    for part in ["uniprocessor ", "group-locks ", "best at ", " ±", "as it was sent."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = demo("--seconds 0 --family 6");
    for part in ["layer-parallel ", "by IPv6", "as it was sent."] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// What finds no room on standard output is told, whatever the command.
#[test]
fn a_full_standard_output_is_told() {
    for arguments in ["doctor", "--version", "help serve", "model --paper thekkath1992", "lab list"]
    {
        let mut command = anabranch(arguments);
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let output = command.stdout(full).output().expect("the command runs");
        let errors = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{arguments}: {errors}");
        assert!(errors.contains("free some room"), "{arguments}: {errors}");
    }
}

/// What the capture made goes again with a server that does not start; before, so did a file, a link or a
/// device that was there.
#[test]
fn a_server_that_does_not_start_takes_no_file_with_it() {
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("old"), "old").expect("written");
        std::os::unix::fs::symlink(at("old"), at("link")).expect("a link");
        std::os::unix::fs::symlink(at("new"), at("dangling")).expect("a link");
        // The stack refuses so many engines, when the device and the capture are there.
        let engines = "serve --tap ana-pcap --organization engines --engines 8 --processors 2";
        for name in ["old", "link", "dangling", "another"] {
            let line = refused(&format!("{engines} --pcap {}", at(name).display()));
            if line.contains("/dev/net/tun") || line.contains("not allowed to make") {
                println!("skipped: {line}");
                return;
            }
            assert!(line.contains("cannot have 8 to 8 engines"), "{line}");
        }
        let names = std::fs::read_dir(place.path()).expect("a directory");
        let mut names: Vec<_> = names.map(|entry| entry.expect("one").file_name()).collect();
        names.sort();
        assert_eq!(names, ["dangling", "link", "old"]);
    });
}

/// Before, what stood behind the first MiB was left out without a word.
#[test]
fn files_that_are_too_long_are_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let long = |name: &str, text: &str| {
        let path = place.path().join(name);
        let padding = format!("# {}\n", "x".repeat(1 << 20));
        std::fs::write(&path, format!("{text}\n{padding}nonsense\n")).expect("written");
        path.display().to_string()
    };
    let grid = long("grid.toml", "name = \"a\"\n[[grid]]\nfrom = \"thekkath1992\"\nload = 0.1\n");
    let costs = concat!(env!("CARGO_MANIFEST_DIR"), "/../planner/tests/data/costs.toml");
    let costs = long("costs.toml", &std::fs::read_to_string(costs).expect("text"));
    for words in [
        format!("lab run --dry-run {grid}"),
        format!(
            "simulate --organization uniprocessor --processors 1 --operations 10 --costs {costs}"
        ),
    ] {
        let line = refused(&words);
        assert!(line.contains("longer than 1 MiB"), "{line}");
    }
}
