//! Reads that leave their buffer with the stack.

use super::{PATIENCE, SERVER, block_on, pair, pair_over};
use anabranch::tokio::{TcpListener, TcpStream};
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes that are sent.
const BYTES: usize = 2_000_000;

fn byte(at: usize) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13) as u8
}

/// Over a link that damages and reorders, some reads with a buffer left there and some
/// without get every byte once and in order, whether they end or are given up.
#[test]
fn what_comes_to_buffers_is_what_was_sent() {
    let (server, client) = pair_over("corrupt=1%,reorder=1%");
    block_on(async {
        let listener = TcpListener::bind(&server, (SERVER, 80)).await.expect("bind");
        let sender = async {
            let (mut stream, _) = listener.accept().await.expect("accept");
            let bytes: Vec<u8> = (0..BYTES).map(byte).collect();
            for (index, piece) in bytes.chunks(40_000).enumerate() {
                stream.write_all(piece).await.expect("write");
                if index % 8 == 0 {
                    // The reader has to wait now and then.
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            }
        };
        let reader = async {
            let mut stream = TcpStream::connect(&client, (SERVER, 80)).await.expect("connect");
            let (mut at, mut turn) = (0, 0_usize);
            loop {
                turn += 1;
                let room = [70_000, 3000, 1, 20_000, 0][turn % 5];
                let mut buffer = vec![0; room];
                let n = match turn % 3 {
                    0 => stream.read(&mut buffer).await.expect("read"),
                    1 => {
                        let read;
                        (read, buffer) = stream.read_posted(buffer).await;
                        read.expect("read")
                    }
                    // Given up at once, if nothing is there.
                    _ => {
                        tokio::select! {
                            biased;
                            (read, got) = stream.read_posted(buffer) => {
                                buffer = got;
                                read.expect("read")
                            }
                            () = tokio::task::yield_now() => continue,
                        }
                    }
                };
                assert!((at..at + n).zip(&buffer).all(|(at, got)| byte(at) == *got), "{at} {n}");
                at += n;
                if n == 0 && room > 0 {
                    return at;
                }
            }
        };
        let both = async { tokio::join!(sender, reader).1 };
        let got = tokio::time::timeout(PATIENCE, both).await.expect("it does not hang");
        assert_eq!(got, BYTES);
    });
}

struct Tell(mpsc::Sender<()>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// What came to the buffer is read first, and then that the connection was reset.
#[test]
fn a_reset_behind_what_came_is_told() {
    let (server, client) = pair();
    block_on(async {
        let listener = TcpListener::bind(&server, (SERVER, 80)).await.expect("bind");
        let (there, here) =
            tokio::join!(listener.accept(), TcpStream::connect(&client, (SERVER, 80)));
        let ((mut there, _), mut here) = (there.expect("accept"), here.expect("connect"));
        let (tell, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Tell(tell)));
        {
            let mut read = pin!(here.read_posted(vec![0; 100]));
            assert!(read.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            there.write_all(b"first").await.expect("write");
            woken.recv_timeout(PATIENCE).expect("it has come");
            there.set_linger(Some(Duration::ZERO)).expect("set");
            drop(there);
            while !client.connections(Duration::from_secs(1)).is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let Poll::Ready((read, buffer)) = read.poll(&mut Context::from_waker(&waker)) else {
                panic!("it was woken");
            };
            assert_eq!(&buffer[..read.expect("read")], b"first");
        }
        let error = here.read_posted(vec![0; 100]).await.0.expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}
