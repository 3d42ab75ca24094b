//! Posted receive against the queue: one pair of hosts waits for its data with buffers, the
//! other reads what waits in the queue, and nothing but that may differ.

use super::*;

/// Hosts that read all at once; with buffers of `posts` bytes, if any.
fn pair(link: Link, seed: u64, posts: usize) -> [Host; 2] {
    [false, true].map(|ours| {
        let mut host = Host::new(link, ours, seed, true);
        (host.domain.app.eager, host.domain.app.posts) = (true, posts);
        host
    })
}

/// What came to buffers in all, and how often it was wrong.
fn the_same(link: Link) -> (u64, u64) {
    let (mut right, mut wrong) = (0, 0);
    for seed in 1..=SEEDS {
        let posts = [1500, 70_000][seed as usize % 2];
        let hosts = same(seed, link, [pair(link, seed, posts), pair(link, seed, 0)]);
        for host in hosts {
            (right, wrong) = (right + host.domain.app.posted.0, wrong + host.domain.app.posted.1);
        }
    }
    (right, wrong)
}

#[test]
fn a_buffer_gets_what_the_queue_would_have() {
    for link in [PLAIN, Link { v6: true, ..PLAIN }] {
        let (right, wrong) = the_same(link);
        assert!(right > SEEDS * 50_000 && wrong > 0, "{right} {wrong}");
    }
}

#[test]
fn it_does_if_the_device_sums_and_cuts() {
    let (right, _) = the_same(Link { checksum: true, segmentation: 65_000, ..PLAIN });
    assert!(right > SEEDS * 50_000, "{right}");
}

/// A buffer that is told of a wrong checksum gets the right bytes when they come again.
#[test]
fn a_wrong_checksum_leaves_nothing_but_bytes_that_do_not_count() {
    let [mut client, mut server] = pair(PLAIN, 7, 70_000);
    let (mut now, mut to_server) = (Instant::from_millis(1000), Vec::new());
    let mut broken = 0;
    for round in 0..400 {
        now += Duration::from_micros(700);
        let mut to_client = server.step(to_server, now);
        for frame in to_client.iter_mut().filter(|frame| frame.len() > 600 && round % 7 == 0) {
            let mut bytes = frame.to_vec();
            *bytes.last_mut().expect("bytes") ^= 1;
            *frame = Packet::copy_of(&bytes);
            broken += 1;
        }
        let before = client.domain.app.read;
        let posted = client.domain.app.posted.0;
        to_server = client.step(to_client, now);
        assert!(client.domain.app.read - before >= client.domain.app.posted.0 - posted);
    }
    let app = &client.domain.app;
    assert!(broken > 10 && app.posted.1 > 0 && app.posted.1 <= broken, "{broken} {:?}", app.posted);
    let wrong = client.domain.counters.dropped(DropReason::TcpChecksum);
    assert_eq!(wrong, broken);
}
