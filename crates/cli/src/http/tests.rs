mod patience;

use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::task::{Context, Waker};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

impl GiveUp for DuplexStream {
    fn give_up(&self) {}
}

/// A directory `root` to serve, and beside it a file that must not be seen.
fn site() -> TempDir {
    let place = TempDir::new().expect("a directory");
    let root = place.path().join("root");
    fs::create_dir_all(root.join("sub/deep")).expect("mkdir");
    fs::create_dir_all(root.join("with index")).expect("mkdir");
    let write = |name: &str, bytes: &[u8]| fs::write(root.join(name), bytes).expect("write");
    write("digits.txt", b"0123456789");
    write("empty.bin", b"");
    write("page.html", b"<p>");
    write("large", &(0..300_000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    write("sub/<b>&\"quoted'.txt", b"x");
    write("sub/javascript:alert(1)", b"x");
    write("with index/index.html", b"the index");
    fs::write(place.path().join("secret"), b"secret").expect("write");
    symlink("../../secret", root.join("sub/out")).expect("symlink");
    symlink(place.path().join("secret"), root.join("absolute")).expect("symlink");
    symlink("..", root.join("up")).expect("symlink");
    symlink("../digits.txt", root.join("sub/inside")).expect("symlink");
    place
}

/// What a server on `place` answers to `request`, until it closes.
fn ask(place: &Path, request: &[u8]) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let site = Arc::new(Directory::open(&place.join("root")).expect("open"));
        let (ours, mut theirs) = duplex(10_000);
        let server = tokio::spawn(serve(ours, site, Arc::new(Tally::default())));
        theirs.write_all(request).await.expect("write");
        theirs.shutdown().await.expect("shutdown");
        let mut answer = Vec::new();
        theirs.read_to_end(&mut answer).await.expect("read");
        let _ = server.await.expect("no panic");
        answer
    })
}

struct Answer {
    status: u16,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }
}

fn request(place: &TempDir, line: &str, fields: &[&str]) -> Answer {
    let mut text = format!("{line} HTTP/1.1\r\nHost: x\r\n");
    for field in fields {
        text += &format!("{field}\r\n");
    }
    let bytes = ask(place.path(), (text + "\r\n").as_bytes());
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a header");
    let head = std::str::from_utf8(&bytes[..end]).expect("text");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
    let field = |line: &str| line.split_once(": ").map(|(a, b)| (a.into(), b.into()));
    Answer {
        status: status.parse().expect("a number"),
        fields: lines.filter_map(field).collect(),
        body: bytes[end + 4..].to_vec(),
    }
}

fn get(place: &TempDir, path: &str) -> Answer {
    request(place, &format!("GET {path}"), &[])
}

#[test]
fn files_have_types_and_lengths() {
    let place = site();
    let answer = get(&place, "/digits.txt");
    assert_eq!((answer.status, answer.text()), (200, "0123456789"));
    assert_eq!(answer.field("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.field("content-length"), Some("10"));
    assert_eq!(answer.field("accept-ranges"), Some("bytes"));
    assert_eq!(get(&place, "/page.html").field("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(get(&place, "/empty.bin").field("content-type"), Some("application/octet-stream"));
    assert_eq!(get(&place, "/empty.bin").field("content-length"), Some("0"));
    assert_eq!(
        get(&place, "/large").body,
        fs::read(place.path().join("root/large")).expect("read")
    );
    assert_eq!(get(&place, "/%64igits.txt?query").text(), "0123456789");
    assert_eq!(get(&place, "/sub/inside").text(), "0123456789");
    for path in ["/none", "/digits.txt/", "/digits.txt/x", "/%00", "/digits.txt%00"] {
        assert_eq!(get(&place, path).status, 404, "{path}");
    }
}

#[test]
fn head_has_the_fields_without_the_bytes() {
    let place = site();
    for path in ["/digits.txt", "/large", "/sub/", "/none"] {
        let (head, get) = (request(&place, &format!("HEAD {path}"), &[]), get(&place, path));
        assert!(head.body.is_empty());
        assert_eq!(head.status, get.status);
        assert_eq!(head.field("content-length"), get.field("content-length"), "{path}");
        assert_eq!(head.field("content-type"), get.field("content-type"));
    }
}

#[test]
fn ranges_of_files() {
    let place = site();
    let range = |path: &str, field: &str| request(&place, &format!("GET {path}"), &[field]);
    let answer = range("/digits.txt", "Range: bytes=2-4");
    assert_eq!((answer.status, answer.text()), (206, "234"));
    assert_eq!(answer.field("content-range"), Some("bytes 2-4/10"));
    assert_eq!(answer.field("content-length"), Some("3"));
    assert_eq!(range("/digits.txt", "Range: bytes=-3").text(), "789");
    let answer = range("/digits.txt", "Range: bytes=10-");
    assert_eq!((answer.status, answer.field("content-range")), (416, Some("bytes */10")));
    let several = range("/digits.txt", "Range: bytes=0-0,2-2");
    assert_eq!((several.status, several.text()), (200, "0123456789"));
    let large = fs::read(place.path().join("root/large")).expect("read");
    assert_eq!(range("/large", "Range: bytes=100001-900000").body, large[100_001..900_001]);

    let whole = get(&place, "/digits.txt");
    let if_range = |condition: &str| {
        let fields = ["Range: bytes=2-4", &format!("If-Range: {condition}")];
        request(&place, "GET /digits.txt", &fields).status
    };
    assert_eq!(if_range(whole.field("etag").expect("a tag")), 206);
    assert_eq!(if_range(whole.field("last-modified").expect("a date")), 206);
    assert_eq!(if_range("\"other\""), 200);

    // RFC 9110 14.2: GET is the only method with ranges.
    let head = request(&place, "HEAD /digits.txt", &["Range: bytes=2-4"]);
    assert_eq!((head.status, head.field("content-length")), (200, Some("10")));
    assert_eq!(head.field("content-range"), None);
}

#[test]
fn files_of_any_year_are_served() {
    const DAY: Duration = Duration::from_secs(86_400);
    let place = site();
    let path = place.path().join("root/digits.txt");
    let epoch = std::time::SystemTime::UNIX_EPOCH;
    let mut tags = std::collections::BTreeSet::new();
    // The last two are in the years 9999 and 10000, if the file system knows them.
    let times = [epoch - 2 * DAY, epoch - DAY, epoch, epoch + 2_932_896 * DAY];
    for modified in times.into_iter().chain([epoch + 2_932_897 * DAY]) {
        let file = fs::File::options().write(true).open(&path).expect("open");
        file.set_modified(modified).expect("set");
        let kept = file.metadata().and_then(|file| file.modified()).expect("a time");
        let can_be_said = (epoch..epoch + 2_932_897 * DAY).contains(&kept);
        let date = can_be_said.then(|| httpdate::fmt_http_date(kept));
        let answer = get(&place, "/digits.txt");
        assert_eq!((answer.status, answer.text()), (200, "0123456789"), "{modified:?}");
        assert_eq!(answer.field("last-modified").map(str::to_owned), date, "{modified:?}");
        let is_new = tags.insert(answer.field("etag").expect("a tag").to_owned());
        assert!(is_new || kept != modified, "{modified:?}");
    }
}

#[test]
fn known_versions_are_not_sent_again() {
    let place = site();
    let whole = get(&place, "/digits.txt");
    let conditional = |field: String| request(&place, "GET /digits.txt", &[&field]);
    let tag = whole.field("etag").expect("a tag");
    let answer = conditional(format!("If-None-Match: \"a\", {tag}"));
    assert_eq!((answer.status, answer.body.len()), (304, 0));
    assert_eq!(conditional("If-None-Match: \"a\"".into()).status, 200);
    let date = whole.field("last-modified").expect("a date");
    assert_eq!(conditional(format!("If-Modified-Since: {date}")).status, 304);
    let early = "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(conditional(early.into()).status, 200);
    // A field may stand in several lines (RFC 9110 5.3).
    let lines = ["If-None-Match: \"a\"", &format!("If-None-Match: W/{tag}")];
    assert_eq!(request(&place, "GET /digits.txt", &lines).status, 304);
}

/// Before, whoever wanted the rest of one version got that of another.
#[test]
fn other_versions_than_wanted_are_not_sent() {
    let place = site();
    let whole = get(&place, "/digits.txt");
    let (tag, date) = (whole.field("etag").expect("a tag"), whole.field("last-modified"));
    let date = date.expect("a date");
    let early = "Sun, 06 Nov 1994 08:49:37 GMT";
    let if_match = |tag: &str| format!("If-Match: {tag}");
    let unmodified = |date: &str| format!("If-Unmodified-Since: {date}");
    for (fields, status) in [
        (vec![if_match(tag)], 200),
        (vec![if_match("*")], 200),
        (vec![if_match(&format!("\"a\", {tag}"))], 200),
        (vec![if_match("\"a\"")], 412),
        // Weak tags are not good enough (RFC 9110 13.1.1).
        (vec![if_match(&format!("W/{tag}"))], 412),
        (vec![if_match("\"a\""), "Range: bytes=2-4".into()], 412),
        (vec![if_match(tag), "Range: bytes=2-4".into()], 206),
        (vec![if_match(tag), format!("If-None-Match: {tag}")], 304),
        (vec![unmodified(date)], 200),
        (vec![unmodified(early)], 412),
        (vec![unmodified("nonsense")], 200),
        (vec![if_match(tag), unmodified(early)], 200),
    ] {
        let given: Vec<&str> = fields.iter().map(String::as_str).collect();
        for method in ["GET", "HEAD"] {
            let answer = request(&place, &format!("{method} /digits.txt"), &given);
            let status = if (method, status) == ("HEAD", 206) { 200 } else { status };
            assert_eq!(answer.status, status, "{method} {fields:?}");
            assert!(status != 412 || answer.body.is_empty());
        }
    }
}

#[test]
fn directories() {
    let place = site();
    let answer = get(&place, "/with%20index?q=1");
    assert_eq!((answer.status, answer.field("location")), (301, Some("/with%20index/?q=1")));
    let answer = get(&place, "/sub?\u{e4}");
    assert_eq!((answer.status, answer.field("location")), (301, Some("/sub/?%C3%A4")));
    // Not to another host.
    assert_eq!(get(&place, "//sub").field("location"), Some("/sub/"));
    assert_eq!(get(&place, "/with%20index/").text(), "the index");
    let list = get(&place, "/sub/");
    assert_eq!(list.field("content-type"), Some("text/html; charset=utf-8"));
    for part in [
        "<h1>/sub/</h1>",
        "<a href=\"../\">../</a>",
        "<a href=\"./deep/\">deep/</a>",
        ">&lt;b&gt;&amp;&quot;quoted&#39;.txt</a>",
        "href=\"./%3Cb%3E%26%22quoted%27.txt\"",
        "href=\"./javascript%3Aalert%281%29\"",
    ] {
        assert!(list.text().contains(part), "{part} in {}", list.text());
    }
    assert!(!get(&place, "/").text().contains("\"../\""));
}

/// Before, each of them had its own: clients that took nothing of a large directory's page had megabytes each.
#[test]
fn those_who_ask_for_the_same_names_share_a_page() {
    let place = site();
    // What has just changed might change again unseen.
    std::thread::sleep(Duration::from_millis(200));
    let site = Directory::open(&place.path().join("root")).expect("open");
    let names = || {
        let uri = Uri::from_static("/sub/");
        let mut body = site.page(&uri, &HeaderMap::new(), true).into_body();
        let frame = pin!(body.frame()).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(Ok(frame))) = frame else { panic!("it is there at once") };
        frame.into_data().expect("bytes")
    };
    let (one, another) = (names(), names());
    assert_eq!(one.as_ptr(), another.as_ptr());
    fs::write(place.path().join("root/sub/new"), "").expect("written");
    assert!(names().windows(4).any(|part| part == b">new"), "what has changed is read again");
}

#[test]
fn nothing_outside_is_served() {
    let place = site();
    for path in [
        "/../secret",
        "/sub/../../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/sub/..%2F..%2Fsecret",
        "/sub/out",
        "/absolute",
        "/up/secret",
        "/up",
        "/%2e%2e%2fsecret%00.txt",
        "/proc/self/cwd",
    ] {
        let answer = get(&place, path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.text().contains("secret"), "{path}");
    }
    let absolute = place.path().join("secret");
    assert_eq!(get(&place, &format!("/{}", absolute.display())).status, 404);
}

#[test]
fn uploads_are_digested() {
    let place = site();
    // FIPS 180-4's example.
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for method in ["PUT", "POST"] {
        let bytes =
            format!("{method} /any/where HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
        let answer = String::from_utf8(ask(place.path(), bytes.as_bytes())).expect("text");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n3 {digest}\n")), "{answer}");
    }
    assert!(!place.path().join("root/any").exists());
    let chunked = b"PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
                    1\r\na\r\n2\r\nbc\r\n0\r\n\r\n";
    let answer = String::from_utf8(ask(place.path(), chunked)).expect("text");
    assert!(answer.ends_with(&format!("3 {digest}\n")), "{answer}");
}

/// A timer by which a minute is 600 ms.
#[derive(Clone)]
struct Hasty;

impl Timer for Hasty {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Sleep>> {
        TokioTimer::new().sleep(time / 100)
    }
    fn sleep_until(&self, at: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(at.saturating_duration_since(self.now()))
    }
}

/// A server on `place` that is soon impatient, and its client's end.
fn hasty(place: &TempDir) -> (JoinHandle<Result<(), hyper::Error>>, DuplexStream) {
    let site = Arc::new(Directory::open(&place.path().join("root")).expect("open"));
    let (ours, theirs) = duplex(10_000);
    (tokio::spawn(serve_by(Hasty, ours, site, Arc::new(Tally::default()))), theirs)
}

/// Before, who began an upload and fell silent kept the connection for ever.
#[test]
fn an_upload_that_falls_silent_is_given_up() {
    let place = site();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let (server, mut theirs) = hasty(&place);
        let head = b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n";
        theirs.write_all(head).await.expect("write");
        theirs.write_all(b"so much, and no more").await.expect("write");
        let mut answer = Vec::new();
        theirs.read_to_end(&mut answer).await.expect("read");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer:?}");
        let _ = server.await.expect("no panic");
    });
}

/// Before, each connection that a client had kept and used no more counted as one that an error ended.
#[test]
fn who_has_been_answered_and_is_silent_is_let_go_without_an_error() {
    let place = site();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let whole = "GET /digits.txt HTTP/1.1\r\nHost: x\r\n\r\n";
        for (said, is_error) in [("", false), (whole, false), ("GET /digits.txt HT", true)] {
            let (server, mut theirs) = hasty(&place);
            theirs.write_all(said.as_bytes()).await.expect("write");
            let mut answer = Vec::new();
            theirs.read_to_end(&mut answer).await.expect("read");
            assert_eq!(answer.ends_with(b"0123456789"), said == whole);
            let ended = server.await.expect("no panic");
            assert_eq!(ended.is_err(), is_error, "{said:?}: {ended:?}");
        }
    });
}

#[test]
fn connections_are_kept_and_requests_may_come_at_once() {
    let place = site();
    let one = "GET /digits.txt HTTP/1.1\r\nHost: x\r\n\r\n";
    let answer = String::from_utf8(ask(place.path(), one.repeat(20).as_bytes())).expect("text");
    assert_eq!(answer.matches("0123456789").count(), 20);
}

/// Before, who may ask for metrics might have the server digest as much as he liked.
#[test]
fn a_site_without_uploads_takes_none() {
    struct Plain;
    impl Site for Plain {
        fn page(&self, _: &Uri, _: &HeaderMap, _: bool) -> Response<Body> {
            text(StatusCode::OK, "plain")
        }
        fn takes_uploads(&self) -> bool {
            false
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        for (method, status) in [("GET", 200), ("POST", 405), ("PUT", 405), ("OPTIONS", 204)] {
            let (ours, mut theirs) = duplex(10_000);
            let server = tokio::spawn(serve(ours, Arc::new(Plain), Arc::new(Tally::default())));
            let ask = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
            theirs.write_all(ask.as_bytes()).await.expect("write");
            theirs.shutdown().await.expect("shutdown");
            let mut answer = String::new();
            theirs.read_to_string(&mut answer).await.expect("read");
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method}: {answer}");
            assert!(!answer.contains("PUT, POST"), "{method}: {answer}");
            let _ = server.await.expect("no panic");
        }
    });
}

#[test]
fn other_methods_and_nonsense() {
    let place = site();
    let answer = request(&place, "DELETE /digits.txt", &[]);
    assert_eq!(
        (answer.status, answer.field("allow")),
        (405, Some("GET, HEAD, PUT, POST, OPTIONS"))
    );
    assert_eq!(request(&place, "OPTIONS *", &[]).status, 204);
    for (question, status) in [
        ("no http at all\r\n\r\n", "HTTP/1.1 400 "),
        ("GET /digits.txt HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "),
        ("GET /digits.txt HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "HTTP/1.1 400 "),
        ("GET /digits.txt HTTP/1.0\r\n\r\n", "HTTP/1.0 200 "),
    ] {
        let answer = ask(place.path(), question.as_bytes());
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with(status), "{question:?}: {answer:?}");
    }
}

#[test]
fn a_fifo_is_not_waited_for() {
    let place = site();
    let path = place.path().join("root/fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("mkfifo");
    assert_eq!(get(&place, "/fifo").status, 404);
}
