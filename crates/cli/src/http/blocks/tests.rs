use super::*;
use crate::http::{Directory, serve};
use crate::tally::Tally;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::yield_now;

const CLIENTS: usize = 600;
const LEN: usize = 3 << 20;

/// Connections to a server, each of which has asked for the same large file and has had the first of it.
async fn clients(site: &Arc<Directory>) -> Vec<DuplexStream> {
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let (ours, mut theirs) = duplex(4096);
        tokio::spawn(serve(ours, site.clone(), Arc::new(Tally::default())));
        let ask = b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        theirs.write_all(ask).await.expect("write");
        theirs.read_exact(&mut [0; 2048]).await.expect("read");
        clients.push(theirs);
    }
    clients
}

/// Before, each of them had half a megabyte for as long as it liked, and as much again in hyper's queue.
#[test]
fn clients_that_take_nothing_do_not_have_all_memory() {
    let place = tempfile::TempDir::new().expect("a directory");
    let bytes: Vec<u8> = (0..LEN).map(|i| (i % 251) as u8).collect();
    std::fs::write(place.path().join("large"), &bytes).expect("write");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let site = Arc::new(Directory::open(place.path()).expect("open"));
        let blocks = site.blocks();
        let mut clients = clients(&site).await;
        let bound = MANY + (LARGE + CLIENTS as u64 * MEDIUM) as usize;
        while blocks.held() < MANY {
            yield_now().await;
        }
        for _ in 0..200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(blocks.held() <= bound, "{} of {bound}", blocks.held());
        }
        // Who takes his answer has all of it, by small blocks as by large ones.
        for client in [0, CLIENTS - 1] {
            let mut answer = Vec::new();
            clients[client].read_to_end(&mut answer).await.expect("read");
            assert!(answer.ends_with(&bytes[2048..]), "{} bytes", answer.len());
        }
        drop(clients);
        while blocks.held() > 0 {
            yield_now().await;
        }
    });
}
