use super::*;
use crate::mailbox::thread_per_connection::tests::Nobody;

fn frame() -> Frame {
    Frame::reassembled(Packet::copy_of(&[0; 20]))
}

#[test]
fn a_frame_that_goes_first_wakes_the_owner() {
    let mailbox = Mailbox::<Nobody>::default();
    mailbox.parker.announce();
    assert!(matches!(mailbox.post_first(frame()), Posted::Done));
    assert!(mailbox.parker.was_woken());
    assert_eq!(mailbox.inbox.lock().frames.len(), 1);
}

#[test]
fn a_frame_that_goes_first_comes_back_from_a_closed_mailbox() {
    let mailbox = Mailbox::<Nobody>::default();
    mailbox.close();
    assert!(matches!(mailbox.post_first(frame()), Posted::Closed(_)));
    assert!(mailbox.is_empty());
}
