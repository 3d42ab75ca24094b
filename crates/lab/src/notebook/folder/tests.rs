use super::*;
use crate::notebook::perform::Yield;
use crate::notebook::record::{Data, Setting};
use std::collections::BTreeMap;

fn session() -> Session {
    let text = "name = \"a\"\n[[grid]]\nfrom = \"thekkath1992\"\nload = [0.1, 0.2]\n";
    let experiments = vec![Experiment::parse("a.toml", text).expect("good")];
    Session { experiments, full: false, seed: 1, shard: Shard::WHOLE }
}

fn record(repetition: usize) -> Record {
    let key = Key {
        experiment: "a".into(),
        grid: "grid".into(),
        case: String::new(),
        data: Data::Computed,
        repetition,
    };
    Record::new(&key, BTreeMap::new(), Ok(Yield::default()), &Setting::default())
}

#[test]
fn what_was_added_is_there_again() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("results");
    let mut folder = Folder::create(&path, &session()).expect("new");
    folder.add(&record(0)).expect("room");
    folder.add(&record(1)).expect("room");
    assert!(matches!(Folder::resume(&path), Err(Trouble::Refused(why)) if why.contains("in use")));
    drop(folder);
    let refused = Folder::create(&path, &session()).expect_err("it has results");
    assert!(refused.to_string().contains("resume"), "{refused}");
    let (_, contents) = Folder::resume(&path).expect("whole");
    assert_eq!(contents.records.len(), 2);
    assert_eq!(contents.session.experiments[0].name, "a");
}

#[test]
fn a_line_that_was_cut_off_is_made_again() {
    let place = tempfile::tempdir().expect("a folder");
    let mut folder = Folder::create(place.path(), &session()).expect("new");
    folder.add(&record(0)).expect("room");
    folder.samples.write_all(b"{\"experiment\":\"a\",\"gr").expect("room");
    drop(folder);
    assert_eq!(read(place.path()).expect("readable").records.len(), 1);
    let (mut folder, contents) = Folder::resume(place.path()).expect("whole");
    assert_eq!(contents.done().len(), 1);
    folder.add(&record(1)).expect("room");
    drop(folder);
    assert_eq!(read(place.path()).expect("readable").records.len(), 2);
}

#[test]
fn a_full_disk_is_said_and_what_is_there_stays() {
    let place = tempfile::tempdir().expect("a folder");
    let mut folder = Folder::create(place.path(), &session()).expect("new");
    folder.add(&record(0)).expect("room");
    // The kernel's device that is always full stands for a full disk.
    folder.samples = File::options().append(true).open("/dev/full").expect("a device");
    let error = folder.add(&record(1)).expect_err("no room").to_string();
    assert!(error.contains("No space left") && error.contains("resume"), "{error}");
    assert!(!error.contains('\n'), "{error}");
    drop(folder);
    assert_eq!(read(place.path()).expect("readable").records.len(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    // Nobody makes a folder there, whatever rights the test has.
    let error = Folder::create(Path::new("/proc/anabranch-lab"), &session()).expect_err("no");
    assert!(error.to_string().contains("name one that can be written"), "{error}");
    let place = tempfile::tempdir().expect("a folder");
    let error = read(place.path()).expect_err("no results").to_string();
    assert!(error.contains("has no results"), "{error}");
}

#[test]
fn samples_of_something_else_are_left_alone() {
    let place = tempfile::tempdir().expect("a folder");
    fs::write(place.path().join(SAMPLES), "{}\n").expect("room");
    let error = Folder::create(place.path(), &session()).expect_err("not empty").to_string();
    assert!(error.contains("something else"), "{error}");
    assert_eq!(fs::read_to_string(place.path().join(SAMPLES)).expect("there"), "{}\n");
}

#[test]
fn a_malformed_file_is_named_with_its_line() {
    let place = tempfile::tempdir().expect("a folder");
    let mut folder = Folder::create(place.path(), &session()).expect("new");
    folder.add(&record(0)).expect("room");
    folder.samples.write_all(b"not JSON\n").expect("room");
    drop(folder);
    let error = read(place.path()).expect_err("malformed").to_string();
    assert!(error.contains("samples.jsonl, line 2: "), "{error}");
    // Not the file, with all that was measured.
    assert!(error.contains("remove the line"), "{error}");
    fs::write(place.path().join(MANIFEST), "{\"version\": 9}").expect("room");
    let error = read(place.path()).expect_err("malformed").to_string();
    assert!(error.contains("manifest.json, line 1: "), "{error}");
    // Without it there would be no results any more.
    assert!(!error.contains("remove"), "{error}");
    let error = super::write(place.path(), b"page").expect_err("no file").to_string();
    assert!(error.contains("name a file") && !error.contains("room"), "{error}");
}

/// Before, a new file took the name: a link was lost, and so was a device (`/dev/null`, where root wrote a
/// report to it).
#[test]
fn the_file_behind_a_link_is_written_and_what_is_no_file_stays() {
    let place = tempfile::tempdir().expect("a folder");
    let (file, link) = (place.path().join("file.html"), place.path().join("link.html"));
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    for text in ["new", "and again"] {
        write(&link, text.as_bytes()).expect("room");
        assert!(link.is_symlink(), "{text}");
        assert_eq!(fs::read_to_string(&file).expect("written"), text);
    }
    // A socket stands for what cannot be replaced: who writes to it is told.
    let socket = place.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let error = write(&socket, b"x").expect_err("nobody writes to it so").to_string();
    assert!(error.contains("cannot write"), "{error}");
    assert!(!fs::metadata(&socket).expect("there").is_file());
    assert_eq!(fs::read_dir(place.path()).expect("readable").count(), 3);
}
