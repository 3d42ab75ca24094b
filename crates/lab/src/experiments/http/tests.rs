use super::*;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server that answers each request when `answer` returns; it ends with the process.
fn server(answer: impl Fn(u64) -> &'static str + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    let (answer, asked) = (Arc::new(answer), Arc::new(AtomicU64::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (answer, asked) = (answer.clone(), asked.clone());
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
                let mut stream = stream;
                while let Some(Ok(line)) = lines.next() {
                    if line.is_empty() {
                        let text = answer(asked.fetch_add(1, Ordering::Relaxed));
                        if stream.write_all(text.as_bytes()).is_err() {
                            break;
                        }
                    }
                }
            });
        }
    });
    address
}

fn to(address: SocketAddr) -> impl Fn() -> io::Result<Box<dyn Connection>> + Sync {
    move || {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(Box::new(stream))
    }
}

const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

fn load(per_s: f64, connections: usize, seconds: f64) -> Load {
    Load {
        schedule: Schedule::constant(per_s),
        connections,
        seconds,
        warm_up: 0.0,
        host: "test".to_owned(),
        path: "/".to_owned(),
        fresh: false,
    }
}

#[test]
fn under_overload_the_answers_in_the_time_that_counts_are_counted() {
    // A hundred a second at most, of 400 offered. Those that are due when time begins to count are
    // answered long after those that were due before it.
    let address = server(|_| {
        thread::sleep(Duration::from_millis(10));
        GOOD
    });
    let load = Load { warm_up: 0.3, ..load(400.0, 1, 0.4) };
    let outcome = run(&load, &to(address)).expect("a server");
    assert_eq!((outcome.offered, outcome.completed, outcome.failed), (160, 0, 0));
    assert!(outcome.answered_per_s > 10.0 && outcome.answered_per_s <= 102.5, "{outcome:?}");
}

#[test]
fn fresh_connections_are_opened_for_each_request() {
    let address = server(|_| GOOD);
    let opened = AtomicU64::new(0);
    let connect = || {
        opened.fetch_add(1, Ordering::Relaxed);
        to(address)()
    };
    let kept = run(&load(200.0, 4, 0.2), &connect).expect("a server");
    assert_eq!((kept.offered, kept.failed, opened.swap(0, Ordering::Relaxed)), (40, 0, 4));
    // The server would keep them: it is the client that ends them.
    let fresh = Load { fresh: true, ..load(200.0, 4, 0.2) };
    let outcome = run(&fresh, &connect).expect("a server");
    assert_eq!((outcome.offered, outcome.failed), (40, 0));
    // Where the machine is busy, the last are not sent before the end.
    let opened = opened.into_inner();
    assert!((20..=40).contains(&opened), "{opened}");
}

#[test]
fn every_request_that_is_due_is_counted() {
    let address = server(|_| GOOD);
    let load = Load { warm_up: 0.1, ..load(400.0, 4, 0.5) };
    let outcome = run(&load, &to(address)).expect("a server");
    // Those due from 0.1 s on, before 0.6 s.
    assert_eq!((outcome.offered, outcome.failed), (200, 0));
    assert!(outcome.completed <= 200 && outcome.bytes == 3 * outcome.completed);
    assert_eq!(outcome.offered_per_s, 400.0);
    let Latency { p50_us, p99_us, max_us, .. } = outcome.latency;
    assert!(0.0 < p50_us && p50_us <= p99_us && p99_us <= max_us, "{outcome:?}");
}

#[test]
fn a_pause_of_the_server_counts_for_all_that_were_due_meanwhile() {
    // The tenth request of one connection waits for a second, and 100 more are due then.
    let pause = Duration::from_secs(1);
    let address = server(move |number| {
        if number == 10 {
            thread::sleep(pause);
        }
        GOOD
    });
    let outcome = run(&load(100.0, 1, 1.5), &to(address)).expect("a server");
    assert_eq!(outcome.offered, 150);
    // Half of all were due while it paused, and waited for half a second on average.
    assert!(outcome.latency.p50_us > 1e5, "{outcome:?}");
    assert!(outcome.latency.max_us >= 1e6, "{outcome:?}");
    // Who only looks from sending on sees one slow answer of 150.
    assert!(outcome.since_sent.p50_us < outcome.latency.p50_us, "{outcome:?}");
}

#[test]
fn what_never_comes_to_be_sent_counts_as_offered_and_not_as_completed() {
    let address = server(|_| {
        thread::sleep(Duration::from_millis(200));
        GOOD
    });
    // One connection is answered five times a second at most, and a hundred times that is due.
    let outcome = run(&load(500.0, 1, 1.0), &to(address)).expect("a server");
    assert_eq!(outcome.offered, 500);
    assert!(outcome.completed <= 5, "{outcome:?}");
    assert!(outcome.latency.p50_us > 3e5, "{outcome:?}");
}

#[test]
fn failures_are_counted_and_connections_opened_again() {
    let address = server(|number| match number % 2 {
        0 => "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        _ => GOOD,
    });
    let outcome = run(&load(100.0, 1, 0.4), &to(address)).expect("a server");
    assert_eq!(outcome.offered, 40);
    // Where the machine is busy, not all come to be sent.
    assert!((1..=20).contains(&outcome.failed) && outcome.completed <= 20, "{outcome:?}");
    let nobody = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr()).expect("a port");
    assert!(matches!(run(&load(100.0, 1, 0.4), &to(nobody)), Err(Error::System(_))));
}

#[test]
fn loads_that_make_no_sense_are_refused() {
    for bad in [
        load(100.0, 0, 1.0),
        load(100.0, 5000, 1.0),
        load(0.0, 1, 1.0),
        load(100.0, 1, 0.0),
        load(1e8, 1, 1000.0),
        Load { path: "x".into(), ..load(1.0, 1, 1.0) },
        Load { host: "a\r\nb".into(), ..load(1.0, 1, 1.0) },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}
