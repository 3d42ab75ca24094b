//! The sockets for tasks.

use super::{SERVER, block_on, pair};
use anabranch::tokio::{TcpListener, TcpStream};
use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::Poll;
use tokio::io::{AsyncRead, ReadBuf};

/// A read that finds nothing does not touch the buffer.
#[test]
fn a_read_initializes_no_more_than_it_fills() {
    let (server, client) = pair();
    block_on(async {
        let listener = TcpListener::bind(&server, (SERVER, 80)).await.expect("bind");
        let mut stream = TcpStream::connect(&client, (SERVER, 80)).await.expect("connect");
        let mut bytes = [MaybeUninit::uninit(); 4096];
        let mut buf = ReadBuf::uninit(&mut bytes);
        poll_fn(|cx| {
            assert!(Pin::new(&mut stream).poll_read(cx, &mut buf).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(buf.initialized().len(), 0);
        drop(listener);
    });
}
