use super::*;
use std::sync::Mutex;

fn draw(dispenser: &mut TicketDispenser, window: usize) -> Ticket {
    let first = dispenser.next[window];
    dispenser.next[window] += 1;
    Ticket { serving: dispenser.serving.clone(), window, first, count: 1 }
}

/// Threads draw batches for a few windows and pass them in any timing: in each
/// window the turns come in the order of drawing.
#[test]
fn turns_come_in_the_order_of_drawing() {
    let dispenser = Mutex::new((TicketDispenser::new(), 0u32));
    let seen: Vec<Mutex<Vec<u32>>> = (0..3).map(|_| Mutex::new(Vec::new())).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let batch: Vec<(Ticket, u32)> = {
                        let (dispenser, drawn) = &mut *dispenser.lock().expect("sound");
                        (0..5)
                            .map(|_| {
                                *drawn += 1;
                                (draw(dispenser, (*drawn as usize * 7 / 3) % 3), *drawn)
                            })
                            .collect()
                    };
                    for (ticket, number) in batch {
                        ticket.wait();
                        seen[ticket.window].lock().expect("sound").push(number);
                        ticket.done();
                    }
                }
            });
        }
    });
    let seen: Vec<Vec<u32>> = seen.into_iter().map(|s| s.into_inner().expect("sound")).collect();
    assert!(seen.iter().all(|s| s.is_sorted()));
    assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 4 * 500 * 5);
}

#[test]
fn turns_in_a_row_are_one() {
    let mut dispenser = TicketDispenser::new();
    let (mut a, b, c) = (draw(&mut dispenser, 1), draw(&mut dispenser, 1), draw(&mut dispenser, 2));
    assert!(a.continues(&b) && !a.continues(&c));
    a.extend(&b);
    a.wait();
    a.done();
    c.wait();
    let d = draw(&mut dispenser, 1);
    d.wait();
}
