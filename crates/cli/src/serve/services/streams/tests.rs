use super::*;
use tokio::io::{DuplexStream, duplex};

fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(test)
}

/// Sends `input` and the end of the stream to a service; returns what comes back.
async fn exchange(
    serve: impl AsyncFnOnce(DuplexStream, &Tally) -> io::Result<()>,
    input: &[u8],
) -> (Vec<u8>, Tally) {
    let (ours, mut theirs) = duplex(1000);
    let tally = Tally::default();
    let mut output = Vec::new();
    let client = async {
        theirs.write_all(input).await.expect("write");
        theirs.shutdown().await.expect("shutdown");
        theirs.read_to_end(&mut output).await.expect("read");
    };
    let (end, ()) = tokio::join!(serve(ours, &tally), client);
    end.expect("served");
    (output, tally)
}

#[test]
fn echo_discard_and_close() {
    run(async {
        assert_eq!(exchange(async |s, t| echo(s, t).await, b"abc").await.0, b"abc");
        let (output, tally) = exchange(async |s, t| discard(s, t).await, &[7; 500]).await;
        assert!(output.is_empty());
        assert_eq!(tally.bytes_in.into_inner(), 500);
        assert_eq!(exchange(async |s, t| close(s, t).await, b"abc").await.0, b"bye\r\n");
        assert_eq!(exchange(async |s, t| close(s, t).await, b"").await.0, b"");
    });
}

#[test]
fn chargen_goes_on_after_the_peers_end_and_stops_when_it_is_gone() {
    run(async {
        let (ours, mut theirs) = duplex(1000);
        let tally = Tally::default();
        let client = async move {
            theirs.write_all(b"ignored").await.expect("write");
            theirs.shutdown().await.expect("shutdown");
            let mut got = vec![0; 3 * pattern().len()];
            theirs.read_exact(&mut got).await.expect("read");
            got
        };
        let (end, got) = tokio::join!(chargen(ours, &tally), client);
        assert!(end.is_err());
        assert!(got.chunks(74).zip(0u8..).take(95).all(|(line, i)| line[0] == b' ' + i));
        assert!(got[..pattern().len()] == got[pattern().len()..2 * pattern().len()]);
        assert_eq!(tally.bytes_in.into_inner(), 7);
    });
}

#[test]
fn sink_reads_nothing_and_holds() {
    run(async {
        let (ours, mut theirs) = duplex(1000);
        let begun = tokio::time::Instant::now();
        let client = async {
            theirs.write_all(&[0; 1000]).await.expect("write");
            let more = theirs.write_all(&[0; 1]).await;
            more.expect_err("let go");
        };
        let tally = Tally::default();
        let (end, ()) = tokio::join!(sink(ours, &tally), client);
        end.expect("served");
        assert_eq!(begun.elapsed(), HOLD);
    });
}
