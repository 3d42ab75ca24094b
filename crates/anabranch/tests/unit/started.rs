//! Tasks that other threads start on a unit.

use super::*;
use anabranch::tokio::UdpSocket;
use std::io::ErrorKind;
use std::sync::{Arc, mpsc};

/// Sends back what comes, and tells by whom that is done.
async fn echo_datagrams(socket: UdpSocket, thread: mpsc::Sender<String>) {
    let mut bytes = [0; 2048];
    while let Ok((n, peer)) = socket.recv_from(&mut bytes).await {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        thread.send(name).expect("the test listens");
        socket.send_to(&bytes[..n], peer).await.expect("it is sent");
    }
}

#[test]
fn a_udp_socket_is_served_on_a_units_thread() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let count = unit::count(&server);
        assert!(count >= processors, "{organization}: {count}");
        let (names, threads) = mpsc::channel();
        block_on(async {
            let socket = UdpSocket::bind(&server, "10.0.0.1:7").await.expect("a port");
            let task = move || echo_datagrams(socket, names);
            unit::start_on(&server, 7 % count, task).expect("it starts");
            let here = UdpSocket::bind(&client, "10.0.0.2:0").await.expect("a port");
            let mut bytes = [0; 8];
            // The first finds out who the neighbour is; then several at once, of which one call to
            // send may carry many.
            for round in 0..32_u8 {
                let many = if round == 0 { 1 } else { 8 };
                for n in 0..many {
                    here.send_to(&[round, n], "10.0.0.1:7").await.expect("it is sent");
                }
                for n in 0..many {
                    assert_eq!(here.recv_from(&mut bytes).await.expect("it comes").0, 2);
                    assert_eq!(bytes[..2], [round, n], "{organization}: in order");
                }
            }
        });
        server.stop();
        let mut threads: Vec<String> = threads.iter().collect();
        assert_eq!(threads.len(), 1 + 31 * 8);
        threads.dedup();
        assert_eq!(threads.len(), 1, "{organization}: {threads:?}");
        assert!(threads[0].starts_with("ana-"), "{organization}: {threads:?}");
        let tasks = server.tasks();
        // It ends by the socket's error, or with its unit.
        assert_eq!((tasks.started, tasks.finished + tasks.dropped), (1, 1), "{organization}");
    }
}

#[test]
fn what_makes_no_sense_is_told_and_a_panic_ends_its_task_alone() {
    let (server, _client) = pair("uniprocessor", 1);
    let error = unit::start_on(&server, 1, || async {}).expect_err("there is one unit");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("has 1"), "{error}");
    // Before it awaits anything, and then.
    unit::start_on(&server, 0, || -> std::future::Ready<()> { panic!("as the test wants it") })
        .expect("it starts");
    unit::start_on(&server, 0, || async { panic!("as the test wants it") }).expect("it starts");
    unit::start_on(&server, 0, || async {}).expect("it starts");
    let tasks = wait_for(&server, |tasks| tasks.finished + tasks.panicked == 3);
    assert_eq!((tasks.started, tasks.panicked), (3, 2));
    server.stop();
    let error = unit::start_on(&server, 0, || async {}).expect_err("it is over");
    assert_eq!(error.kind(), ErrorKind::NetworkDown);

    let (locked, _client) = pair("group-locks", 2);
    assert_eq!(unit::count(&locked), 0);
    let error = unit::start_on(&locked, 0, || async {}).expect_err("no threads");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

/// A task may panic with what panics when it is dropped, or have such a thing: that ends no unit.
#[test]
fn what_is_dropped_after_a_panic_may_panic_too() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::panic_any(Panics);
        }
    }
    for (organization, processors) in WITH_THREADS {
        let (server, _client) = pair(organization, processors);
        unit::start_on(&server, 0, || async { std::panic::panic_any(Panics) }).expect("it starts");
        unit::start_on(&server, 0, || async { drop(Panics) }).expect("it starts");
        unit::start_on(&server, 0, || async {}).expect("it starts");
        let tasks = wait_for(&server, |tasks| tasks.finished + tasks.panicked == 3);
        assert_eq!((tasks.started, tasks.panicked), (3, 2), "{organization}");
    }
}

/// What was given and never started does not keep the stack.
#[test]
fn a_stack_that_stops_lets_go_of_what_was_to_be_started() {
    for (organization, processors) in WITH_THREADS {
        let (server, _client) = pair(organization, processors);
        let alive = Arc::new(());
        let weak = Arc::downgrade(&alive);
        for unit in 0..unit::count(&server) {
            let (kept, stack) = (alive.clone(), server.clone());
            let task = move || async move {
                let _kept = (kept, stack);
                std::future::pending::<()>().await;
            };
            unit::start_on(&server, unit, task).expect("it starts");
        }
        drop(alive);
        server.stop();
        assert!(weak.upgrade().is_none(), "{organization}");
    }
}
