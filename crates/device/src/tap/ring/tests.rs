use super::*;
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsFd;

/// A pipe, which knows RWF_NOWAIT as a queue does; `None` where rings are not permitted.
fn rings() -> Option<(Ring, Ring, PipeReader, PipeWriter)> {
    if let Err(error) = permitted() {
        println!("skipped: {error}");
        return None;
    }
    let (reader, writer) = pipe().expect("a pipe");
    let from = Ring::of(reader.as_fd()).expect("a ring");
    let to = Ring::of(writer.as_fd()).expect("a ring");
    Some((from, to, reader, writer))
}

#[test]
fn many_are_written_and_read_in_their_order() {
    let Some((mut from, mut to, ..)) = rings() else { return };
    for _ in 0..100 {
        let slices: Vec<IoSlice<'_>> =
            [&b"a"[..], b"bc", b"", b"def", b"g"].map(IoSlice::new).into();
        assert_eq!(to.write(&slices, &[1, 4, 5]), [1, 5, 1]);
        let (mut first, mut second, mut third) = ([0; 2], [0; 4], [0; 9]);
        let mut slices = [&mut first[..], &mut second, &mut third].map(IoSliceMut::new);
        assert_eq!(from.read(&mut slices, &[2, 3]), [6, 1]);
        assert_eq!((&first, &second, &third[..1]), (b"ab", b"cdef", &b"g"[..]));
    }
}

#[test]
fn nothing_waits() {
    let Some((mut from, mut to, _reader, mut writer)) = rings() else { return };
    let mut bytes = [0; 8];
    let mut slices = [IoSliceMut::new(&mut bytes)];
    assert_eq!(from.read(&mut slices, &[1]), [-libc::EAGAIN]);
    writer.write_all(b"late").expect("written");
    assert_eq!(from.read(&mut slices, &[1]), [4]);
    // What is full takes no more, and says so at once.
    let page = [0; 4096];
    let slices = vec![IoSlice::new(&page); MOST];
    let ends: Vec<usize> = (1..=MOST).collect();
    assert_eq!(to.write(&slices, &ends[..16]), [4096; 16]);
    assert_eq!(to.write(&slices, &ends), [-libc::EAGAIN; MOST]);
}

#[test]
fn another_thread_goes_on_with_it() {
    let Some((mut from, mut to, ..)) = rings() else { return };
    let write = |to: &mut Ring| to.write(&[IoSlice::new(b"x")], &[1]).to_vec();
    assert_eq!(write(&mut to), [1]);
    let mut to = std::thread::spawn(move || {
        assert_eq!(write(&mut to), [1]);
        to
    })
    .join()
    .expect("it ends");
    assert_eq!(write(&mut to), [1]);
    let mut bytes = [0; 8];
    assert_eq!(from.read(&mut [IoSliceMut::new(&mut bytes)], &[1]), [3]);
}

#[test]
fn a_queue_is_let_go_with_its_ring() {
    let Some((from, to, reader, mut writer)) = rings() else { return };
    drop(reader);
    // The ring has the other end still.
    writer.write_all(b"x").expect("written");
    drop((from, to));
    assert!(writer.write_all(b"x").is_err(), "nobody reads any more");
}

#[test]
fn what_cannot_but_wait_gets_no_ring() {
    if permitted().is_err() {
        return println!("skipped: no rings");
    }
    let file = std::fs::File::options().write(true).open("/proc/thread-self/comm");
    let error = Ring::of(file.expect("Linux has it").as_fd()).err().expect("refused");
    assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
}
