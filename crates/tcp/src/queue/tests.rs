use super::Queue;
use std::collections::VecDeque;

/// Whatever is done with it, it is as a queue of the standard library.
#[test]
fn it_is_a_queue() {
    let (mut queue, mut model) = (Queue::default(), VecDeque::new());
    let mut random = 1u64;
    for step in 0..40_000u32 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Now rather longer, now rather shorter.
        let grows = (step / 500) % 2 == 0;
        match (random >> 40) % 8 {
            n if n < if grows { 5 } else { 2 } => {
                queue.push_back(step);
                model.push_back(step);
            }
            5 => {
                queue.shrink(4);
                queue.thin(8);
                assert!(!queue.is_empty() || queue.capacity() <= 4);
            }
            6 => {
                if let (Some(a), Some(b)) = (queue.back_mut(), model.back_mut()) {
                    (*a, *b) = (*a + 1, *b + 1);
                }
            }
            _ => assert_eq!(queue.pop_front(), model.pop_front()),
        }
        let index = (random >> 20) as usize % 8;
        assert_eq!(queue.get(index), model.get(index));
        assert_eq!(queue.get_mut(index), model.get_mut(index));
        assert_eq!(queue.front(), model.front());
        assert_eq!(queue.front_mut(), model.front_mut());
        assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
        assert_eq!(queue.back(), model.back());
        if step % 16 == 0 {
            assert!(queue.iter().eq(&model) && queue.clone().into_iter().eq(model.clone()));
            assert!(queue.iter_mut().eq(model.iter_mut()));
            let at = index.min(model.len());
            assert!(queue.from(at).eq(model.range(at..)));
            let bound = model.get(index).copied().unwrap_or(step);
            assert_eq!(
                queue.partition_point(|n| *n < bound),
                model.partition_point(|n| *n < bound)
            );
            assert!(model.iter().copied().collect::<Queue<u32>>().iter().eq(&model));
        }
    }
}

#[test]
fn one_element_takes_no_memory() {
    let mut queue = Queue::default();
    for n in 0..100 {
        queue.push_back(n);
        assert_eq!(queue.pop_front(), Some(n));
    }
    assert_eq!(queue.capacity(), 0);
}

#[test]
fn few_of_what_were_many_take_little_memory() {
    let mut queue: Queue<u32> = (0..100_000).collect();
    for n in 0..99_990 {
        assert_eq!(queue.pop_front(), Some(n));
        queue.thin(100);
    }
    assert!(queue.capacity() < 400, "{}", queue.capacity());
    assert!(queue.iter().copied().eq(99_990..100_000));
}
