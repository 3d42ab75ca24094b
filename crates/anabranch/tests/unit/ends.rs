//! How tasks end: by panics, with their stack, and with what they wrote.

use super::*;
use anabranch::tokio::UdpSocket;
use std::io::{ErrorKind, Read, Write};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

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

/// A task that belongs to its wakers, as with many an executor while it waits.
struct Owned(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Owned {
    fn poll(self: &Arc<Owned>) {
        let waker = Waker::from(self.clone());
        let mut task = self.0.lock().expect("no panic");
        assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
}

impl Wake for Owned {
    fn wake(self: Arc<Self>) {
        self.poll();
    }
}

/// A task has given up to wait for a datagram, has let go of the socket, and is forgotten: with it goes the last
/// handle of its stack, which waits for what was written. Before, the unit that forgot the socket dropped the task, and
/// waited for itself.
#[test]
fn no_unit_drops_the_tasks_that_have_waited_at_a_socket() {
    for (organization, processors) in WITH_THREADS {
        let (left, right) = memory::pair(memory::Config::default().with_queues(processors));
        let start = |device, address| Stack::builder().device(device).address(address);
        let server = start(left, "10.0.0.1/24").organization(organization);
        let server = server.processors(processors).start().expect("a stack");
        let client = start(right, "10.0.0.2/24").organization(organization);
        let client = client.processors(processors).drain(2 * PATIENCE).start().expect("a stack");
        let listener = anabranch::TcpListener::bind(&server, SERVER).expect("bind");
        let stream = anabranch::TcpStream::connect(&client, SERVER).expect("connect");
        let (mut there, _) = listener.accept().expect("accept");
        let task = Arc::new(Owned(Mutex::new(Box::pin(async move {
            // It goes before the stack.
            let mut stream = stream;
            let udp = UdpSocket::bind(&client, "10.0.0.2:8").await.expect("bind");
            let mut bytes = [0; 8];
            {
                let mut receive = pin!(udp.recv_from(&mut bytes));
                let once = |cx: &mut Context<'_>| Poll::Ready(receive.as_mut().poll(cx));
                assert!(std::future::poll_fn(once).await.is_pending());
            }
            // So that the units see what follows only when this task is forgotten.
            for unit in 0..unit::count(&client) {
                let busy = || async { std::thread::sleep(Duration::from_millis(100)) };
                unit::start_on(&client, unit, busy).expect("it starts");
            }
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(&[7; 300_000]).expect("it is written");
            drop(udp);
            std::future::pending::<()>().await;
            drop((stream, client));
        }))));
        task.poll();
        drop(task);
        there.set_read_timeout(Some(PATIENCE)).expect("set");
        let mut bytes = Vec::new();
        there.read_to_end(&mut bytes).expect("it ends well");
        assert_eq!(bytes.len(), 300_000, "{organization}");
    }
}
