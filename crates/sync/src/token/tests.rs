use super::*;

#[test]
fn one_announcement_queues_and_the_next_do_not() {
    let token = RunToken::new();
    assert!(token.is_idle() && !token.begin());
    assert!(token.announce());
    assert!(!token.announce() && !token.is_running());
    assert!(token.begin() && token.is_running());
    assert!(!token.begin(), "it runs already");
    assert!(!token.finish(|| false));
    assert!(token.is_idle());
}

#[test]
fn what_is_announced_while_it_runs_queues_it_again() {
    let token = RunToken::new();
    assert!(token.announce() && token.begin());
    assert!(!token.announce());
    assert!(!token.begin() && !token.announce());
    assert!(token.finish(|| false));
    assert!(!token.announce(), "queued already");
    assert!(token.begin());
    assert!(!token.finish(|| false));
}

#[test]
fn work_that_is_left_queues_it_again() {
    let token = RunToken::new();
    assert!(token.announce() && token.begin());
    assert!(token.finish(|| true));
    assert!(token.begin());
    assert!(!token.finish(|| false) && token.is_idle());
}
