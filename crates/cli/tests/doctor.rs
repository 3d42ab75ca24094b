//! `doctor` as a user without rights: each command that it prints as a mend mends that.

mod common;

use common::anabranch;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// What was found of one thing: its mark, and the command that mends it.
type Findings = BTreeMap<String, (String, Option<String>)>;

/// Runs this by a shell whose mounts are its own, with a `/dev/net/tun` of its own, closed to
/// others than root. `None` if there can be none.
fn in_private(place: &Path, script: &str) -> Option<String> {
    let text = format!(
        "set -e\n\
         mount -t tmpfs -o dev none /dev/net && mknod -m 0600 /dev/net/tun c 10 200 || exit 77\n\
         sudo() {{ \"$@\"; }}\n\
         doctor() {{ setpriv --reuid 65534 --regid 65534 --clear-groups {}/anabranch doctor || :; }}\n\
         {script}",
        place.display()
    );
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &text]).output().ok()?;
    let said = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return None;
    }
    assert!(output.status.success(), "{said}{errors}");
    Some(said)
}

/// A line for each finding: a mark in five columns, the thing in fourteen, the text. The mend
/// stands in the line behind, as a command, perhaps with a remark behind three spaces.
fn findings(text: &str) -> Findings {
    let (mut found, mut last) = (Findings::new(), String::new());
    for line in text.lines() {
        if let Some((_, mend)) = line.split_once("mend: ") {
            let command = mend.split("   (").next().unwrap_or(mend);
            found.get_mut(&last).expect("a finding before").1 = Some(command.to_owned());
        } else if let (Some(mark), Some(thing)) = (line.get(..5), line.get(6..20))
            && [" ok  ", " NO  ", "  -  "].contains(&mark)
        {
            last = thing.trim().to_owned();
            found.insert(last.clone(), (mark.trim().to_owned(), None));
        }
    }
    found
}

/// A copy of the command that anybody may run.
fn copy() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    open(place.path()).expect("open");
    let to = place.path().join("anabranch");
    fs::copy(anabranch("").get_program(), &to).expect("copied");
    open(&to).expect("open");
    place
}

#[test]
fn each_mend_mends() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !rustix::process::geteuid().is_root() || !has("setcap") || !has("setpriv") {
        println!("skipped: it takes root, setcap (libcap2-bin) and setpriv (util-linux)");
        return;
    }
    let place = copy();
    let Some(text) = in_private(place.path(), "doctor") else {
        println!("skipped: no file system may be mounted here");
        return;
    };
    let before = findings(&text);
    let bad: Vec<_> = before.iter().filter(|(_, (mark, _))| mark == "NO").collect();
    let things: Vec<_> = bad.iter().map(|(thing, _)| thing.as_str()).collect();
    for thing in ["TAP driver", "CAP_NET_ADMIN", "TAP on trial", "queue steering"] {
        assert!(things.contains(&thing), "{text}");
    }
    assert!(text.contains("anabranch serve  needs the above"), "{text}");
    let mends: Vec<&str> =
        bad.iter().map(|(_, (_, mend))| mend.as_deref().expect("a mend")).collect();
    let commands: Vec<&str> = mends.iter().filter(|m| m.starts_with("sudo ")).copied().collect();
    // All others name a finding whose mend is theirs, too.
    for mend in mends.iter().filter(|mend| !mend.starts_with("sudo ")) {
        let other = mend.strip_prefix("see `").and_then(|m| m.strip_suffix("` above"));
        assert!(things.contains(&other.expect("a finding")), "{mend}");
    }
    let script = commands.join("\n") + "\ndoctor";
    let text = in_private(place.path(), &script).expect("as before");
    let after = findings(&text);
    for thing in ["TAP driver", "CAP_NET_ADMIN", "queue steering"] {
        assert_eq!(after.get(thing).map(|(mark, _)| mark.as_str()), Some("ok"), "{thing}: {text}");
    }
    assert!(text.contains("anabranch serve  can run as you are"), "{text}");
}
