//! Clients that do not read what they asked for.

use super::*;
use std::sync::atomic::AtomicBool;

/// Before, who asked for a file and did not read it kept the connection and the file for ever.
#[test]
fn who_does_not_read_is_given_up() {
    let place = site();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let (server, mut theirs) = hasty(&place);
        theirs.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("write");
        let ended = tokio::time::timeout(Duration::from_secs(60), server).await;
        ended.expect("it ends").expect("no panic").expect_err("nothing was read");
    });
}

/// A site whose memory is held by those who take nothing of it, or not.
struct Crowded(Directory, AtomicBool);

impl Site for Crowded {
    fn page(&self, uri: &Uri, fields: &HeaderMap, wants_body: bool) -> Response<Body> {
        self.0.page(uri, fields, wants_body)
    }
    fn is_full(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }
}

/// Before, some hundred of them shut out all others for five minutes.
#[test]
fn who_does_not_read_is_given_up_sooner_while_others_are_refused() {
    let place = site();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let root = Directory::open(&place.path().join("root")).expect("open");
        let site = Arc::new(Crowded(root, AtomicBool::new(false)));
        let (ours, mut theirs) = duplex(10_000);
        let mut server = tokio::spawn(serve(ours, site.clone(), Arc::new(Tally::default())));
        theirs.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("write");
        let waits = tokio::time::timeout(2 * UNREAD_WHEN_FULL, &mut server).await;
        waits.expect_err("there is room for others");
        site.1.store(true, Ordering::Relaxed);
        let ended = tokio::time::timeout(UNREAD_WHEN_FULL, server).await;
        ended.expect("it ends").expect("no panic").expect_err("nothing was read");
    });
}

/// However slowly it comes, a file comes whole.
#[test]
fn who_reads_slowly_gets_all() {
    let place = site();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let site = Arc::new(Directory::open(&place.path().join("root")).expect("open"));
        let (ours, mut theirs) = duplex(100_000);
        let server = tokio::spawn(serve(ours, site, Arc::new(Tally::default())));
        let ask = b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        theirs.write_all(ask).await.expect("write");
        let (mut answer, mut bytes) = (Vec::new(), vec![0; 100_000]);
        loop {
            tokio::time::sleep(UNREAD - Duration::from_secs(1)).await;
            match theirs.read(&mut bytes).await.expect("read") {
                0 => break,
                n => answer.extend(&bytes[..n]),
            }
        }
        assert!(answer.ends_with(&fs::read(place.path().join("root/large")).expect("read")));
        server.await.expect("no panic").expect("served");
    });
}
