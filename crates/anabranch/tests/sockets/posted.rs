//! Reads that leave their buffer with the stack.

use super::{PATIENCE, SERVER, block_on, pair_over};
use anabranch::tokio::{TcpListener, TcpStream};
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
