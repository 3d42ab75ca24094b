//! Fast Open (RFC 7413) between two stacks, in every organization.

use super::{PATIENCE, SERVER, block_on, pair};
use anabranch::device::memory;
use anabranch::{Organization, Stack, TcpListener, TcpOptions, TcpStream, tokio};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

const HTTP: &str = "10.0.0.1:80";

fn server() -> TcpOptions {
    TcpOptions::default().with_fast_open(16)
}

fn client() -> TcpOptions {
    TcpOptions::default().with_fast_open_connect(true)
}

fn of(organization: Organization) -> (Stack, Stack) {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address: &str| {
        let stack = Stack::builder().device(device).address(format!("{address}/24").as_str());
        stack.organization(organization).drain(Duration::ZERO).start().expect("a stack")
    };
    (start(left, SERVER), start(right, "10.0.0.2"))
}

/// A question and its answer. Returns whether each end says that data went with the SYN.
fn transaction(listener: &TcpListener, stack: &Stack) -> (bool, bool) {
    let mut there = TcpStream::connect_with(stack, &client(), HTTP).expect("connect");
    there.set_read_timeout(Some(PATIENCE)).expect("not zero");
    there.write_all(b"question").expect("write");
    let (mut here, _) = listener.accept().expect("accept");
    here.set_read_timeout(Some(PATIENCE)).expect("not zero");
    let mut bytes = [0; 8];
    here.read_exact(&mut bytes).expect("read");
    assert_eq!(&bytes, b"question");
    here.write_all(b"an answer").expect("write");
    let mut bytes = [0; 9];
    there.read_exact(&mut bytes).expect("read");
    assert_eq!(&bytes, b"an answer");
    // On from there, both ways and to the end.
    there.write_all(&[1; 100_000]).expect("write");
    here.read_exact(&mut [0; 100_000]).expect("read");
    here.write_all(&[2; 100_000]).expect("write");
    there.read_exact(&mut [0; 100_000]).expect("read");
    let told = |stream: &TcpStream| stream.info().expect("open").syn_data;
    let told = (told(&here), told(&there));
    drop(there);
    assert_eq!(here.read(&mut [0]).expect("the end"), 0);
    told
}

#[test]
fn the_second_connection_takes_its_question_along() {
    for organization in Organization::all() {
        let stacks = of(organization);
        let listener = TcpListener::bind(&stacks.0, HTTP).expect("bind");
        listener.set_options(&server()).expect("options");
        assert_eq!(transaction(&listener, &stacks.1), (false, false), "{organization}");
        for _ in 0..20 {
            assert_eq!(transaction(&listener, &stacks.1), (true, true), "{organization}");
        }
        // Where the server does not want it any more, all goes on as ever.
        listener.set_options(&TcpOptions::default()).expect("options");
        assert_eq!(transaction(&listener, &stacks.1), (false, false), "{organization}");
    }
}

#[test]
fn who_only_listens_is_told_what_the_server_says() {
    for organization in Organization::all() {
        let stacks = of(organization);
        let listener = TcpListener::bind(&stacks.0, HTTP).expect("bind");
        listener.set_options(&server()).expect("options");
        assert_eq!(transaction(&listener, &stacks.1), (false, false), "{organization}");
        let mut there = TcpStream::connect_with(&stacks.1, &client(), HTTP).expect("connect");
        there.set_read_timeout(Some(PATIENCE)).expect("not zero");
        there.shutdown(Shutdown::Write).expect("open");
        listener.set_nonblocking(true).expect("set");
        let start = Instant::now();
        let mut here = loop {
            match listener.accept() {
                Ok((here, _)) => break here,
                Err(error) if start.elapsed() > PATIENCE => panic!("{organization}: {error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        assert_eq!(here.read(&mut [0]).expect("the end"), 0, "{organization}");
        here.write_all(b"news").expect("write");
        drop(here);
        let mut news = String::new();
        there.read_to_string(&mut news).expect("read");
        assert_eq!(news, "news", "{organization}");
    }
}

#[test]
fn many_at_a_time_lose_nothing() {
    for organization in Organization::all() {
        let stacks = of(organization);
        let listener = TcpListener::bind(&stacks.0, HTTP).expect("bind");
        listener.set_options(&server()).expect("options");
        transaction(&listener, &stacks.1);
        std::thread::scope(|scope| {
            let answers = scope.spawn(|| {
                for _ in 0..60 {
                    let (mut here, _) = listener.accept().expect("accept");
                    let mut bytes = Vec::new();
                    here.read_to_end(&mut bytes).expect("read");
                    here.write_all(&bytes).expect("write");
                }
            });
            for n in 0..3 {
                let stack = &stacks.1;
                scope.spawn(move || {
                    for k in 0..20 {
                        let mut there =
                            TcpStream::connect_with(stack, &client(), HTTP).expect("connect");
                        let said = vec![n * 20 + k; 5000];
                        there.write_all(&said).expect("write");
                        there.shutdown(std::net::Shutdown::Write).expect("open");
                        let mut bytes = Vec::new();
                        there.read_to_end(&mut bytes).expect("read");
                        assert_eq!(bytes, said, "{organization}");
                    }
                });
            }
            answers.join().expect("it does not panic");
        });
    }
}

#[test]
fn with_a_cookie_connecting_does_not_wait_and_refusal_is_told_later() {
    let stacks = pair();
    {
        let listener = TcpListener::bind(&stacks.0, HTTP).expect("bind");
        listener.set_options(&server()).expect("options");
        transaction(&listener, &stacks.1);
    }
    // Nobody listens, and that is not known yet.
    let mut stream = TcpStream::connect_with(&stacks.1, &client(), HTTP).expect("a cookie");
    stream.write_all(b"question").expect("it is queued");
    let error = stream.read(&mut [0]).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    // What never said anything leaves nothing behind.
    drop(TcpStream::connect_with(&stacks.1, &client(), HTTP).expect("a cookie"));
}

#[test]
fn tasks_have_it_too() {
    use ::tokio::io::{AsyncReadExt, AsyncWriteExt};
    let stacks = pair();
    block_on(async {
        let listener = tokio::TcpListener::bind(&stacks.0, HTTP).await.expect("bind");
        listener.set_options(&server()).expect("options");
        for data in [false, true] {
            let options = client();
            let connect = tokio::TcpStream::connect_with(&stacks.1, &options, HTTP);
            let mut there = connect.await.expect("connect");
            there.write_all(b"question").await.expect("write");
            let (mut here, _) = listener.accept().await.expect("accept");
            let mut bytes = [0; 8];
            here.read_exact(&mut bytes).await.expect("read");
            assert_eq!(here.info().await.expect("open").syn_data, data);
        }
    });
}
