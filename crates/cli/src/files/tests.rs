use super::*;
use std::os::unix::fs::PermissionsExt;

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).expect("a directory").flatten();
    entries.map(|entry| entry.file_name().into_string().expect("text")).collect()
}

#[test]
fn old_text_stays_until_new_text_is_whole() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("rows.json");
    fs::write(&path, "old").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
    let json = Json::to(Some(&path)).expect("a file that can be written");
    // Whoever is interrupted here has lost nothing.
    assert_eq!(fs::read_to_string(&path).expect("text"), "old");
    assert_eq!(names(place.path()), ["rows.json"]);
    json.report(&[1, 2], String::new).expect("room");
    assert_eq!(fs::read_to_string(&path).expect("text"), "[\n  1,\n  2\n]\n");
    assert_eq!(names(place.path()), ["rows.json"]);
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_question_leaves_nothing_behind() {
    let place = tempfile::tempdir().expect("a directory");
    Output::new("--svg", &place.path().join("new")).expect("it can be made");
    let missing = place.path().join("missing").join("new");
    let refused = Output::new("--svg", &missing).expect_err("no directory").to_string();
    assert!(refused.contains("--svg") && refused.contains("can be made"), "{refused}");
    assert!(names(place.path()).is_empty());
}

#[test]
fn links_stay_links_and_devices_devices() {
    let place = tempfile::tempdir().expect("a directory");
    let (real, link) = (place.path().join("real"), place.path().join("link"));
    fs::write(&real, "old").expect("written");
    std::os::unix::fs::symlink("real", &link).expect("a link");
    Output::new("--json", &link).expect("good").write("new").expect("room");
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("text"), "new");
    let null = Path::new("/dev/null");
    Output::new("--json", null).expect("good").write("new").expect("room");
    assert!(!null.is_file());
    let full = Output::new("--json", Path::new("/dev/full")).expect("open to all");
    assert!(full.write("new").is_err());
}

#[test]
fn two_options_need_two_files() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("x");
    let same = place.path().join(".").join("x");
    let line = distinct(&[("--pcap", Some(&file)), ("--stats-json", Some(&same))]);
    let line = line.expect_err("the same").to_string();
    assert!(line.starts_with("--pcap and --stats-json both name"), "{line}");
    distinct(&[("--pcap", Some(&file)), ("--json", None), ("--svg", Some(place.path()))])
        .expect("two files");
    let null = Some(Path::new("/dev/null"));
    distinct(&[("--pcap", null), ("--stats-json", null)]).expect("a device");
}

#[test]
fn who_stops_reading_figures_is_told_nothing() {
    assert!(printed(Ok(())).is_ok());
    assert!(printed(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
    let full = printed(Err(io::ErrorKind::StorageFull.into())).expect_err("full");
    assert!(full.to_string().contains("free some room"), "{full}");
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_one() {
    let place = tempfile::tempdir().expect("a directory");
    let (real, link) = (place.path().join("real"), place.path().join("link"));
    std::os::unix::fs::symlink("real", &link).expect("a link");
    let output = Output::new("--json", &link).expect("good");
    assert_eq!(names(place.path()), ["link"], "the question changes nothing");
    output.write("new").expect("room");
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("text"), "new");
}

#[test]
fn a_name_may_be_as_long_as_names_can_be() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("x".repeat(255));
    Output::new("--json", &path).expect("good").write("new").expect("room");
    assert_eq!(fs::read_to_string(&path).expect("text"), "new");
}

/// Its reader gets the text, and not an end before.
#[test]
fn a_named_pipe_is_opened_once() {
    let place = tempfile::tempdir().expect("a directory");
    let pipe = place.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils");
    assert!(made.success());
    // Nobody reads yet.
    let output = Output::new("--json", &pipe).expect("good");
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).expect("text"));
    output.write("new").expect("read");
    assert_eq!(reader.join().expect("read"), "new");
}

#[test]
fn what_helps_is_told_by_what_is_wrong() {
    let place = tempfile::tempdir().expect("a directory");
    let output = Output::new("--json", &place.path().join("x")).expect("good");
    drop(place);
    let line = output.write("new").expect_err("its directory is gone").to_string();
    assert!(line.ends_with(": name a file that can be written"), "{line}");
    let of = |errno: Errno| mend(&errno.into());
    assert_eq!([Errno::MFILE, Errno::NFILE].map(of), ["raise ulimit -n"; 2]);
    assert_eq!([Errno::NOSPC, Errno::DQUOT].map(of), ["free some room"; 2]);
}
