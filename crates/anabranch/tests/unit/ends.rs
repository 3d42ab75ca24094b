//! How tasks end: by panics, with their stack, and with what they wrote.

use super::*;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn a_panic_resets_its_connection_and_no_other() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let handler = |mut stream: TcpStream, _| async move {
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                assert_ne!(byte[0], b'!', "as the test wants it");
                stream.write_all(&byte).await.expect("it is sent");
            }
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let mut good = Vec::new();
            for _ in 0..8 {
                good.push(TcpStream::connect(&client, SERVER).await.expect("a connection"));
            }
            for _ in 0..8 {
                let mut bad = TcpStream::connect(&client, SERVER).await.expect("a connection");
                bad.write_all(b"!").await.expect("it is sent");
                let error = bad.read(&mut [0]).await.expect_err("it is reset");
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
            for stream in &mut good {
                exchange(stream, b"still here").await;
            }
        });
        let tasks = wait_for(&server, |tasks| tasks.finished == 8);
        assert_eq!((tasks.started, tasks.panicked), (16, 8));
    }
}

/// Counts what is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_stop_in_mid_flight_drops_all_tasks_before_it_returns() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = dropped.clone();
        let handler = move |mut stream: TcpStream, _| {
            let counted = Counted(counted.clone());
            async move {
                let _counted = counted;
                while stream.write_all(&[1; 10_000]).await.is_ok() {}
                // The connection is gone; this task would not be.
                std::future::pending().await
            }
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let mut streams = Vec::new();
            for _ in 0..50 {
                let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
                stream.read_exact(&mut [0; 100_000]).await.expect("bytes");
                // A reset that its device does not take in time is lost, as any host's.
                stream.set_keepalive(Some(Duration::from_secs(1))).expect("set");
                streams.push(stream);
            }
            server.stop();
            assert_eq!(dropped.load(Ordering::SeqCst), 50, "{organization}");
            for stream in &mut streams {
                let mut rest = Vec::new();
                assert!(stream.read_to_end(&mut rest).await.is_err(), "it ends");
            }
        });
        let tasks = server.tasks();
        assert_eq!((tasks.started, tasks.dropped), (50, 50));
        let again = unit::serve(&server, "10.0.0.1:8", |stream, _| echo(stream));
        assert_eq!(again.expect_err("it has ended").kind(), ErrorKind::NetworkDown);
    }
}

#[test]
fn what_a_task_wrote_is_delivered_though_the_last_handle_goes_with_it() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let handler = |mut stream: TcpStream, _| async move {
            stream.read_exact(&mut [0]).await.expect("a byte");
            stream.write_all(&vec![7; 300_000]).await.expect("it is sent");
        };
        let listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            wait_for(&server, |tasks| tasks.started == 1);
            drop((listening, server));
            assert!(TcpStream::connect(&client, SERVER).await.is_err(), "nobody listens");
            stream.write_all(&[1]).await.expect("it is sent");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.expect("a FIN at the end");
            assert_eq!(bytes, vec![7; 300_000], "{organization}");
        });
    }
}

#[test]
fn the_handler_may_have_the_last_handle() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let last = server.clone();
        let handler = move |mut stream: TcpStream, _| {
            let kept = last.clone();
            async move {
                stream.read_exact(&mut [0]).await.expect("a byte");
                stream.write_all(&vec![7; 300_000]).await.expect("it is sent");
                drop(kept);
            }
        };
        let listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            wait_for(&server, |tasks| tasks.started == 1);
            drop((listening, server));
            stream.write_all(&[1]).await.expect("it is sent");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.expect("a FIN at the end");
            assert_eq!(bytes, vec![7; 300_000], "{organization}");
        });
    }
}

#[test]
fn a_task_may_count_and_stop_its_own_stack() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let own = server.clone();
        let handler = move |mut stream: TcpStream, _| {
            let own = own.clone();
            async move {
                stream.read_exact(&mut [0]).await.expect("a byte");
                // Of a round before this one: some packet has come in by then.
                assert!(own.counters().packets_in > 0);
                stream.write_all(&[1]).await.expect("it is sent");
                stream.read_exact(&mut [0]).await.expect("a byte");
                own.stop();
                std::future::pending().await
            }
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            exchange(&mut stream, &[1]).await;
            stream.write_all(&[1]).await.expect("it is sent");
            let end = stream.read(&mut [0]).await;
            assert!(end.is_err(), "{organization}: it is reset: {end:?}");
        });
        let tasks = wait_for(&server, |tasks| tasks.dropped == 1);
        assert_eq!((tasks.started, tasks.panicked), (1, 0), "{organization}");
        server.stop();
        let again = unit::serve(&server, "10.0.0.1:8", |stream, _| echo(stream));
        assert_eq!(again.expect_err("it has ended").kind(), ErrorKind::NetworkDown);
    }
}

/// Who watches for such tasks sleeps while there is none.
#[test]
fn a_task_that_keeps_its_thread_after_a_rest_is_counted() {
    let (server, client) = pair("uniprocessor", 1);
    let handler = |mut stream: TcpStream, _| async move {
        let mut byte = [0];
        while stream.read_exact(&mut byte).await.is_ok() {
            std::thread::sleep(Duration::from_millis(byte[0].into()));
            stream.write_all(&byte).await.expect("it is sent");
        }
    };
    let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
    block_on(async {
        let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
        for round in 1..=3 {
            stream.write_all(&[0]).await.expect("write");
            stream.read_exact(&mut [0]).await.expect("read");
            tokio::time::sleep(Duration::from_millis(300)).await;
            // The watchdog looks four times in that, when it is awake.
            while server.tasks().blocked < round {
                stream.write_all(&[250]).await.expect("write");
                stream.read_exact(&mut [0]).await.expect("read");
            }
        }
    });
}

#[test]
fn a_task_that_keeps_its_thread_is_counted_once() {
    let (server, client) = pair("uniprocessor", 1);
    let go_on = Arc::new(AtomicBool::new(false));
    let may_go_on = go_on.clone();
    let handler = move |mut stream: TcpStream, _| {
        let go_on = may_go_on.clone();
        async move {
            while !go_on.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            stream.write_all(b"late").await.expect("it is sent");
        }
    };
    let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
    block_on(async {
        let connecting = tokio::spawn({
            let client = client.clone();
            async move { TcpStream::connect(&client, SERVER).await }
        });
        let waiting = tokio::task::spawn_blocking({
            let server = server.clone();
            move || wait_for(&server, |tasks| tasks.blocked > 0)
        });
        let blocked = waiting.await.expect("it is named").blocked;
        go_on.store(true, Ordering::SeqCst);
        let mut stream = connecting.await.expect("a task").expect("a connection");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.expect("the end");
        assert_eq!((blocked, bytes.as_slice()), (1, &b"late"[..]));
    });
    assert_eq!(server.tasks().blocked, 1);
}
