use super::*;
use proptest::prelude::*;

/// Numbers near the places where order turns.
fn seq() -> impl Strategy<Value = Seq> {
    prop_oneof![
        any::<u32>(),
        (0u32..4).prop_map(|n| n.wrapping_sub(2)),
        (0u32..4).prop_map(|n| (1 << 31) + n - 2),
    ]
    .prop_map(Seq)
}

proptest! {
    #[test]
    fn one_of_before_after_and_equal(a in seq(), b in seq()) {
        if a.distance_from(b) == 1 << 31 {
            prop_assert!(a.before(b) && b.before(a));
            return Ok(());
        }
        let answers = [a.before(b), a.after(b), a == b];
        prop_assert_eq!(answers.iter().filter(|&&yes| yes).count(), 1);
        prop_assert_eq!(a.before_or_at(b), a.before(b) || a == b);
        prop_assert_eq!(a.after_or_at(b), a.after(b) || a == b);
        prop_assert_eq!(a.before(b), b.after(a));
    }

    #[test]
    fn order_is_that_of_offsets(a in seq(), n in 0u32..1 << 31, m in 0u32..1 << 31) {
        prop_assert_eq!((a + n).before(a + m), n < m);
        prop_assert_eq!((a + n).after_or_at(a + m), n >= m);
        prop_assert_eq!((a + n).latest(a + m), a + n.max(m));
        prop_assert_eq!((a + n).earliest(a + m), a + n.min(m));
    }

    #[test]
    fn addition_and_distance_undo_each_other(a in seq(), n: u32) {
        prop_assert_eq!((a + n).distance_from(a), n);
        prop_assert_eq!(a + n - n, a);
        let mut b = a;
        b += n;
        prop_assert_eq!(b, a + n);
    }

    #[test]
    fn within_is_a_half_open_range(a in seq(), len: u32, n: u32) {
        prop_assert_eq!((a + n).within(a, len), n < len);
        prop_assert!(!a.within(a, 0));
        prop_assert!(!(a - 1).within(a, len));
    }
}

#[test]
fn order_wraps_round() {
    assert!(Seq(u32::MAX).before(Seq(0)));
    assert!(Seq(5).after(Seq(u32::MAX - 5)));
    assert_eq!(Seq(u32::MAX) + 2, Seq(1));
}
