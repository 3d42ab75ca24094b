use super::*;
use std::sync::Arc;
use std::task::Waker;

fn open() -> TcpShared {
    let socket = TcpShared::opening(Arc::default(), None);
    socket.state.lock().phase = Phase::Open;
    socket
}

fn poll(waiting: &Waiting<'_>) -> Poll<(usize, Vec<u8>)> {
    waiting.poll(&Context::from_waker(Waker::noop()))
}

/// Data comes as a segment brings it.
fn comes(socket: &TcpShared, bytes: &[u8]) -> bool {
    socket.fill_posted(bytes.len(), &mut |place| {
        place.copy_from_slice(bytes);
        true
    })
}

#[test]
fn a_buffer_is_filled_from_its_start() {
    let socket = open();
    assert!(!comes(&socket, b"nobody waits"));
    let waiting = socket.post(vec![0; 8]).expect("it waits");
    assert!(any());
    assert!(poll(&waiting).is_pending());
    assert!(comes(&socket, b"abc") && comes(&socket, b"defg"));
    assert!(!comes(&socket, b"hi"), "there is room for one");
    assert!(matches!(socket.post(vec![0; 8]), Err(NotPosted::Occupied(_))));
    let Poll::Ready((7, buffer)) = poll(&waiting) else { panic!("not filled") };
    assert_eq!(buffer, b"abcdefg\0");
    assert!(!comes(&socket, b"late"));
}

#[test]
fn what_is_wrong_does_not_count() {
    let socket = open();
    let waiting = socket.post(vec![0; 8]).expect("it waits");
    let wrong = &mut |place: &mut [u8]| {
        place.fill(9);
        false
    };
    assert!(!socket.fill_posted(5, wrong));
    assert!(poll(&waiting).is_pending());
    assert!(comes(&socket, b"right"));
    let Poll::Ready((5, buffer)) = poll(&waiting) else { panic!("not filled") };
    assert_eq!(&buffer[..5], b"right");
}

#[test]
fn what_waits_in_the_queue_comes_first() {
    let socket = open();
    let waiting = socket.post(vec![0; 8]).expect("it waits");
    socket.state.lock().unread.push(Slice::copy_of(b"queue"), usize::MAX);
    assert!(!comes(&socket, b"x"));
    assert!(matches!(poll(&waiting), Poll::Ready((0, _))));
    drop(waiting);
    assert!(matches!(socket.post(vec![0; 8]), Err(NotPosted::Ready(_))));
}

#[test]
fn a_reader_that_gives_up_loses_nothing() {
    let socket = open();
    let waiting = socket.post(vec![0; 8]).expect("it waits");
    assert!(comes(&socket, b"first"));
    socket.state.lock().unread.push(Slice::copy_of(b" then"), usize::MAX);
    drop(waiting);
    let parts = socket.state.lock().unread.pop_parts(100);
    assert_eq!(parts.iter().flat_map(|part| part.to_vec()).collect::<Vec<_>>(), b"first then");
    assert!(!comes(&socket, b"x"));
}

#[test]
fn ends_end_the_wait() {
    let socket = open();
    let waiting = socket.post(vec![0; 8]).expect("it waits");
    socket.state.lock().eof = true;
    assert!(matches!(poll(&waiting), Poll::Ready((0, buffer)) if buffer.len() == 8));
    assert!(matches!(socket.post(vec![]), Err(NotPosted::Ready(_))));
    assert!(matches!(poll(&waiting), Poll::Ready((0, buffer)) if buffer.is_empty()));
}

#[test]
fn a_reader_that_ends_takes_back_no_others_buffer() {
    let socket = open();
    let first = socket.post(vec![0; 8]).expect("it waits");
    assert!(comes(&socket, b"abc"));
    let Poll::Ready((3, _kept)) = poll(&first) else { panic!("not filled") };
    let second = socket.post(vec![0; 8]).expect("the place is free");
    drop(first);
    assert!(comes(&socket, b"de"), "the second waits still");
    assert!(matches!(poll(&second), Poll::Ready((2, _))));
}

/// Counts how often it is called.
#[derive(Default)]
struct Calls(AtomicUsize);

impl std::task::Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn another_reader_hears_of_what_is_given_back() {
    let socket = open();
    let waiting = socket.post(vec![0; 8]).expect("it waits");
    let calls = Arc::new(Calls::default());
    let waker = Waker::from(calls.clone());
    let other = Context::from_waker(&waker);
    assert!(socket.poll_read(Some(&other), 100, false).is_pending());
    assert!(comes(&socket, b"data"));
    drop(waiting);
    assert_eq!(calls.0.load(Ordering::Relaxed), 1);
    assert!(socket.poll_read(Some(&other), 100, false).is_ready());
}

#[test]
fn more_room_wakes_who_waits_to_write() {
    let socket = open();
    {
        let mut state = socket.state.lock();
        (state.send_buffer, state.queued) = (100, 100);
    }
    let calls = Arc::new(Calls::default());
    let waker = Waker::from(calls.clone());
    let cx = Context::from_waker(&waker);
    assert!(socket.poll_room(Some(&cx)).is_pending());
    socket.set_send_buffer(100);
    assert_eq!(calls.0.load(Ordering::Relaxed), 0, "there is no room");
    socket.set_send_buffer(200);
    assert_eq!(calls.0.load(Ordering::Relaxed), 1);
    socket.state.lock().notsent = 50;
    socket.set_notsent_lowat(Some(50));
    assert!(socket.poll_room(Some(&cx)).is_pending());
    socket.set_notsent_lowat(None);
    assert_eq!(calls.0.load(Ordering::Relaxed), 2);
}
