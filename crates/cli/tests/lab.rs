//! `anabranch lab`: files of experiments, folders of results, and what becomes of them
//! when a run is cut off.

mod common;

use common::{anabranch, refused};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// An experiment that takes no time, and one whose runs take some.
const MODEL: &str = "name = \"model\"\n[[grid]]\nfrom = \"thekkath1992\"\nload = [0.1, 0.5]\n\
    [[figure]]\ntitle = \"Load\"\ngrid = \"grid\"\nx = \"load\"\ny = \"residence_us\"\n\
    [[claim]]\nsource = \"s\"\nstatement = \"more load takes more time\"\ngrid = \"grid\"\n\
    metric = \"residence_us\"\nleft = { load = 0.5 }\nright = { load = 0.1 }\nat_least = 1.0\n";
const LONG: &str = "name = \"long\"\nquick = { repeat = 20, seconds = 0.05, warm_up = 0.01, \
    bound = 0.001 }\n[[grid]]\nconnections = [1, 2]\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }
    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.at(name);
        std::fs::write(&path, text).expect("room");
        path.display().to_string()
    }
}

fn run(words: &str) -> Output {
    anabranch(words).output().expect("the command runs")
}

/// Standard output of a command that has to succeed.
fn said(words: &str) -> String {
    let output = run(words);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn samples(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("samples.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let place = Place::new();
    let bad = place.file("bad.toml", &MODEL.replace("load = [0.1, 0.5]", "load = [0.1, 7]"));
    for (words, part) in [
        (format!("lab run {bad}"), "bad.toml, line 4: load = 7 is not possible: give"),
        ("lab run /does/not/exist".into(), "name a file, or one of bohra2007"),
        ("lab reproduce nobody".into(), "choose from bohra2007"),
        ("lab reproduce yates1996 --shard 3/2".into(), "write I/N"),
        ("lab resume /proc".into(), "has no results"),
        ("lab report /proc".into(), "has no results"),
        ("lab merge /proc/x /proc".into(), "has no results"),
    ] {
        let line = refused(&words);
        assert!(line.contains(part), "{line}");
    }
    let line = said(&format!("lab run --dry-run {}", place.file("long.toml", LONG)));
    assert!(line.starts_with("40 runs, about "), "{line}");
    assert!(said("lab list").contains("schmidt1996"));
    assert!(said("lab list --words").contains("virtual_processors"));
}

#[test]
fn a_run_leaves_samples_a_report_and_figures() {
    let place = Place::new();
    let (file, out) = (place.file("model.toml", MODEL), place.at("out"));
    let text = said(&format!("lab run {file} --out {}", out.display()));
    assert!(text.contains("more load takes more time   holds"), "{text}");
    assert!(text.contains("1 claims: 1 holds"), "{text}");
    assert_eq!(samples(&out).len(), 2);
    for line in samples(&out) {
        let sample: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        for key in ["machine", "kernel", "commit", "command", "at", "figures"] {
            assert!(!sample[key].is_null(), "{key}: {line}");
        }
    }
    for file in ["report.html", "claims.json", "figures/model-01.svg", "experiments/model.toml"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let again = refused(&format!("lab run {file} --out {}", out.display()));
    assert!(again.contains("lab resume"), "{again}");
    let elsewhere = place.at("elsewhere.html");
    said(&format!("lab report {} --html {}", out.display(), elsewhere.display()));
    assert!(elsewhere.is_file());
    let text = said(&format!("lab compare {0} {0}", out.display()));
    assert!(text.starts_with("0 of 2 medians differ"), "{text}");
    assert!(text.contains("1 of 1 claims have the same outcome"), "{text}");
    let text = said(&format!("lab agree {0} {0} --all --require 90", out.display()));
    assert!(text.contains("more load takes more time   holds"), "{text}");
    assert!(text.contains("(100 %), 0 hold in one and not in the other"), "{text}");
}

/// Before, a run whose words were not all UTF-8 ended in a panic behind the making of its folder.
#[test]
fn names_of_files_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let place = Place::new();
    let file = place.at("x").with_file_name(std::ffi::OsString::from_vec(b"\xff.toml".into()));
    std::fs::write(&file, MODEL).expect("room");
    let run = anabranch("lab run").arg(&file).arg("--out").arg(place.at("out")).output();
    let output = run.expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(samples(&place.at("out"))[0].contains("anabranch lab run /"));
}

/// Kills a run when it has made so many samples; returns how many it had.
fn killed(words: &str, out: &Path, when: usize) -> usize {
    let mut child = anabranch(words)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the command runs");
    let start = Instant::now();
    while samples(out).len() < when && start.elapsed() < common::PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    // SIGKILL: it can do nothing about it.
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    samples(out).len()
}

#[test]
fn a_run_that_was_killed_loses_the_run_in_progress_at_most() {
    let place = Place::new();
    let (file, out) = (place.file("long.toml", LONG), place.at("out"));
    let begin = format!("lab run {file} --out {}", out.display());
    let resume = format!("lab resume {}", out.display());
    let mut before = killed(&begin, &out, 3);
    assert!((3..40).contains(&before), "{before}");
    // Again and again, at other moments of a run.
    for more in [1, 4, 9] {
        let kept = samples(&out);
        let now = killed(&resume, &out, before + more);
        assert_eq!(samples(&out)[..before], kept[..], "what was there is as it was");
        assert!(now <= 40, "{now}");
        before = now;
    }
    let kept = samples(&out);
    said(&resume);
    let all = samples(&out);
    // What was missing was made, each run once.
    assert_eq!(all[..before], kept[..before]);
    assert_eq!(all.len(), 40);
    let again = said(&format!("lab resume {}", out.display()));
    assert!(again.contains("report.html"), "{again}");
    assert_eq!(samples(&out).len(), 40);
}

#[test]
fn a_full_disk_and_a_folder_that_cannot_be_made_are_said() {
    let place = Place::new();
    let file = place.file("model.toml", MODEL);
    let line = {
        let output = run(&format!("lab run {file} --out /proc/anabranch-lab"));
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("text")
    };
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.contains("name one that can be written"), "{line}");
    // The kernel's device that is always full stands for the disk.
    let out = place.at("full");
    std::fs::create_dir(&out).expect("room");
    std::os::unix::fs::symlink("/dev/full", out.join("samples.jsonl")).expect("room");
    let output = run(&format!("lab run {file} --out {}", out.display()));
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).expect("text");
    let line = error.lines().last().expect("a line");
    assert!(line.contains("No space left") && line.contains("lab resume"), "{line}");
    // With room, it goes on.
    std::fs::remove_file(out.join("samples.jsonl")).expect("there");
    std::fs::write(out.join("samples.jsonl"), "").expect("room");
    said(&format!("lab resume {}", out.display()));
    assert_eq!(samples(&out).len(), 2);
}

/// Runs a shell's script as the owner of a mount namespace of its own; none if the system gives
/// no such namespace. What it mounts is gone with it.
fn in_namespace(script: &str) -> Option<Output> {
    let words = ["--user", "--map-root-user", "--mount", "sh", "-c"];
    let can = Command::new("unshare").args(words).arg("mount -t tmpfs tmpfs /mnt").output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: no mount namespaces here");
        return None;
    }
    Some(Command::new("unshare").args(words).arg(script).output().expect("it ran before"))
}

#[test]
fn a_disk_that_fills_up_keeps_what_is_there() {
    let place = Place::new();
    let file = place.file("long.toml", LONG);
    let (disk, kept) = (place.at("disk"), place.at("kept"));
    std::fs::create_dir(&disk).expect("room");
    let command = env!("CARGO_BIN_EXE_anabranch");
    let (disk, kept) = (disk.display(), kept.display());
    // A disk of five pages, and a file on it that leaves room for some samples.
    let script = format!(
        "mount -t tmpfs -o size=20k tmpfs {disk} && {command} lab run {file} --out {disk}/out; \
         echo $? >&2; cp -r {disk}/out {kept}; {command} lab resume {disk}/out; echo $? >&2"
    );
    let Some(output) = in_namespace(&script) else { return };
    let error = String::from_utf8(output.stderr).expect("text");
    let codes: Vec<&str> = error.lines().filter(|line| line.len() == 1).collect();
    assert_eq!(codes, ["1", "1"], "{error}");
    assert!(error.contains("No space left") && error.contains("lab resume"), "{error}");
    let kept = place.at("kept");
    let before = samples(&kept);
    assert!((1..40).contains(&before.len()), "{}", before.len());
    // With room, it goes on from there.
    said(&format!("lab resume {}", kept.display()));
    let all = samples(&kept);
    assert_eq!(all[..before.len()], before);
    assert_eq!(all.len(), 40);
}

#[test]
fn a_folder_that_can_only_be_read_is_said() {
    let place = Place::new();
    let (file, out) = (place.file("model.toml", MODEL), place.at("out"));
    said(&format!("lab run {file} --out {}", out.display()));
    let samples_before = samples(&out);
    let command = env!("CARGO_BIN_EXE_anabranch");
    let shown = out.display();
    let script = format!(
        "mount --bind {shown} {shown} && mount -o remount,bind,ro {shown}; \
         for what in 'run {file} --out {shown}/new' 'resume {shown}' 'report {shown}'; do \
         {command} lab $what >/dev/null; echo code $? >&2; done; \
         {command} lab compare {shown} {shown}"
    );
    let Some(output) = in_namespace(&script) else { return };
    let error = String::from_utf8(output.stderr).expect("text");
    let failures: Vec<&str> = error.lines().filter(|line| line.contains("Read-only")).collect();
    // A folder that cannot be made is a wrong word on the command line; the others failed.
    assert_eq!(error.matches("code 2").count(), 1, "{error}");
    assert_eq!(error.matches("code 1").count(), 2, "{error}");
    assert_eq!(failures.len(), 3, "{error}");
    assert!(failures.iter().all(|line| line.contains("can be written")), "{error}");
    // What only reads works.
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("0 of 2 medians differ"), "{text}");
    assert_eq!(samples(&out), samples_before);
}

#[test]
fn a_malformed_file_of_a_folder_is_named_and_left_alone() {
    let place = Place::new();
    let (file, out) = (place.file("model.toml", MODEL), place.at("out"));
    said(&format!("lab run {file} --out {}", out.display()));
    for (name, bad, part) in [
        ("samples.jsonl", "{}\n", "samples.jsonl, line 1: no sample"),
        ("manifest.json", "{", "manifest.json, line 1"),
        ("experiments/model.toml", "name = 7\n", "model.toml, line 1"),
        ("needed.json", "[7]", "needed.json, line 1"),
    ] {
        let path = out.join(name);
        let before = std::fs::read(&path).expect("it was written");
        std::fs::write(&path, bad).expect("room");
        for words in ["resume", "report", "agree", "compare"] {
            let both = matches!(words, "agree" | "compare");
            let second = if both { out.display().to_string() } else { String::new() };
            let output = run(&format!("lab {words} {} {second}", out.display()));
            let error = String::from_utf8(output.stderr).expect("text");
            assert_eq!(output.status.code(), Some(1), "{words} {name}: {error}");
            assert!(error.contains(part) && error.lines().count() == 1, "{words}: {error}");
        }
        assert_eq!(std::fs::read(&path).expect("there"), bad.as_bytes(), "{name}");
        std::fs::write(&path, before).expect("room");
    }
    said(&format!("lab report {}", out.display()));
}

#[test]
fn parts_of_a_session_are_joined() {
    let place = Place::new();
    let text = MODEL.replace(
        "[[figure]]",
        "[[grid]]\nname = \"b\"\nfrom = \"thekkath1992\"\nload = 0.3\n[[figure]]",
    );
    let file = place.file("model.toml", &text);
    let parts: Vec<PathBuf> = (1..=2).map(|n| place.at(&format!("part{n}"))).collect();
    for (n, part) in parts.iter().enumerate() {
        said(&format!("lab run {file} --shard {}/2 --out {}", n + 1, part.display()));
    }
    let out = place.at("joined");
    let words = format!("{} {} {}", out.display(), parts[0].display(), parts[1].display());
    let text = said(&format!("lab merge {words}"));
    assert!(text.contains("3 runs of 1 kind of machine"), "{text}");
    assert!(said(&format!("lab report {}", out.display())).contains("holds"));
}

#[test]
fn a_web_server_is_loaded_at_a_rate() {
    let words = "lab http --organization uniprocessor --rate 200,10ms:400+10ms:0 --seconds 0.5 \
                 --connections 4 --json -";
    let output = run(words);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).expect("text");
    let rows: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["server"], "uniprocessor", "{row}");
        assert_eq!((&row["offered"], &row["failed"]), (&100.into(), &0.into()), "{row}");
        assert!(row["latency"]["p99_us"].as_f64() >= row["latency"]["p50_us"].as_f64(), "{row}");
    }
    for (words, part) in [
        ("lab http --rate fast", "is no rate"),
        ("lab goodput --loss 100", "100 is no part"),
        ("lab goodput --rate 0", "a rate of 0 Mbit/s is not possible"),
        ("lab fairness --rate 0", "a rate of 0 Mbit/s is not possible"),
        ("lab fairness --seconds 0", "--seconds must be from 0.1"),
        ("lab http ftp://x/", "is no page"),
        ("lab http --connections 0", "connections must be"),
        ("lab http --organization nobody", "nobody"),
    ] {
        let line = refused(words);
        assert!(line.contains(part), "{line}");
    }
}

/// A server of the kernel's sockets that answers one request on each connection; it ends with the
/// test.
fn plain_server() -> std::net::SocketAddr {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                request.push(byte[0]);
            }
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn httperf_asks_where_it_is_installed() {
    let address = plain_server();
    let words = format!("lab http http://{address}/ --httperf --rate 100 --seconds 0.5 --json -");
    let output = run(&words);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if error.contains("not installed") {
        println!("skipped: {error}");
        return;
    }
    assert!(output.status.success(), "{error}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = &rows[0];
    let counts = [&row["offered"], &row["completed"], &row["failed"], &row["bytes"]];
    assert_eq!(counts.map(serde_json::Value::as_u64), [50, 50, 0, 250].map(Some), "{row}");
    assert!(row["latency"]["p50_us"].as_f64() > Some(0.0) && row["latency"]["p99_us"].is_null());
    let line = refused(&format!("lab http http://{address}/ --httperf --rate 10ms:400+10ms:0"));
    assert!(line.contains("no phases"), "{line}");
}

/// What an experiment with a web server says of it.
const WEB: &str = "name = \"web\"\nquick = { repeat = 1, seconds = 1.0, warm_up = 0.1, \
    bound = 0.001 }\n[[grid]]\nworkload = \"http\"\norganization = [\"uniprocessor\", \
    \"engines-sched\"]\nrate = 200\nconnections = 4\nbytes = 3000\nfresh = [false, true]\n\
    [[figure]]\ntitle = \"Web\"\ngrid = \"grid\"\nx = \"fresh\"\n\
    y = \"completed_requests_per_s\"\n";

#[test]
fn an_experiment_loads_a_web_server() {
    let place = Place::new();
    let out = place.at("web");
    said(&format!("lab run {} --out {}", place.file("web.toml", WEB), out.display()));
    let samples = samples(&out);
    assert_eq!(samples.len(), 4);
    for sample in samples {
        let run: serde_json::Value = serde_json::from_str(&sample).expect("JSON");
        let figures = &run["figures"];
        assert_eq!(figures["offered_requests_per_s"].as_f64(), Some(200.0), "{run}");
        assert!(figures["completed_requests_per_s"].as_f64() > Some(0.0), "{run}");
    }
    let png = std::fs::read(out.join("figures/web-01.png")).expect("a figure");
    assert!(png.starts_with(b"\x89PNG") && png.len() > 2000, "{}", png.len());
    assert!(out.join("figures/web-01.svg").exists());
}

/// What is missing where there can be no such network.
const MISSING: [&str; 4] =
    ["not allowed to make", "/dev/net/tun", "cannot set up", "CUBIC cannot be had"];

#[test]
fn our_tcp_and_the_kernels_pass_the_same_box() {
    let words = "lab goodput --rate 10 --loss 1 --rtt 10 --reorder 0,3 --seconds 2 --json -";
    let output = run(words);
    let error = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && MISSING.iter().any(|why| error.contains(why)) {
        println!("skipped: {error}");
        return;
    }
    assert!(output.status.success(), "{error}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows");
    let reorder: Vec<_> = rows.iter().map(|row| row["reorder"].as_f64()).collect();
    assert_eq!(reorder, [Some(0.0), Some(3.0)], "in the order of the paths");
    for row in rows {
        for sender in ["ours", "linux"] {
            assert!(row[sender][0]["goodput"].as_f64() > Some(0.0), "{sender}: {row}");
        }
        assert!(row["ratio"].as_f64() > Some(0.0), "{row}");
    }
}

#[test]
fn our_tcp_shares_a_path_with_itself_and_with_the_kernels() {
    let words = "lab fairness --rtt 10 --rate 10 --warm-up 1 --seconds 2 --json -";
    let output = run(words);
    let error = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && MISSING.iter().any(|why| error.contains(why)) {
        println!("skipped: {error}");
        return;
    }
    assert!(output.status.success(), "{error}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows");
    let pairs: Vec<_> = rows.iter().map(|row| row["senders"].to_string()).collect();
    assert_eq!(pairs, [r#"["ours","ours"]"#, r#"["ours","linux"]"#]);
    for row in rows {
        let had: Vec<f64> = (0..2).filter_map(|n| row["goodput"][n].as_f64()).collect();
        // Who has which part is a matter of time; both have something, and not more than is there.
        assert!(had.len() == 2 && had.iter().all(|had| *had > 0.0), "{row}");
        assert!(had.iter().sum::<f64>() < 1.1e7, "{row}");
        assert!(row["index"].as_f64() > Some(0.5), "{row}");
    }
}

/// The first browser of the Chromium kind that is installed.
fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];
    names.into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    })
}

#[test]
fn a_browser_shows_every_figure_and_asks_no_network() {
    let Some(chromium) = chromium() else {
        println!("not run: chromium is not installed");
        return;
    };
    let place = Place::new();
    let (file, out) = (place.file("model.toml", MODEL), place.at("out"));
    said(&format!("lab run {file} --out {}", out.display()));
    let page = out.join("report.html").canonicalize().expect("there");
    for dark in [false, true] {
        let mut command = Command::new(chromium);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"]);
        if dark {
            command.arg("--force-dark-mode");
        }
        command.arg(format!("--user-data-dir={}", place.at("profile").display()));
        let output = command.arg(format!("file://{}", page.display())).output().expect("it runs");
        let (dom, log) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(dom.contains("data-figures=\"1\""), "{log}");
        assert!(dom.contains("data-requests=\"0\""), "{log}");
        assert!(dom.contains("data-rows=\"1\""), "the claims as CSV: {log}");
        assert!(!log.contains("CONSOLE"), "{log}");
    }
}
