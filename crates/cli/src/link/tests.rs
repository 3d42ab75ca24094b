use super::*;
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Parser)]
struct Sample {
    #[command(flatten)]
    link: Chosen,
}

#[test]
fn the_first_kind_is_the_default() {
    let chosen = Sample::try_parse_from(["x"]).expect("a default").link;
    assert_eq!((chosen.kind.title, chosen.name.as_str()), ("TAP device", "ana0"));
    let chosen = Sample::try_parse_from(["x", "--tap", "ana7"]).expect("named").link;
    assert_eq!(chosen.name, "ana7");
}

fn sources(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).expect("sources").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// To add a device to the command is to write its file here, and its row. The box between
/// our sender and the kernel's is no choice of device: its two ends are what they are.
#[test]
fn no_command_knows_a_kind_of_device() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let own = [place.join("link"), place.join("laboratory/goodput")];
    let others =
        sources(&place).into_iter().filter(|path| !own.iter().any(|own| path.starts_with(own)));
    for path in others {
        let text = fs::read_to_string(&path).expect("text");
        for word in ["tap::", "memory::", "device::tap", "{tap", "xdp::"] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
    let rows = fs::read_to_string(place.join("link/mod.rs")).expect("text");
    for kind in ["tap", "memory", "xdp"] {
        let names = rows.lines().filter(|line| {
            line.contains(&format!("{kind}::KIND")) || line.contains(&format!("mod {kind};"))
        });
        assert_eq!(names.count(), 2, "{kind}");
    }
}
