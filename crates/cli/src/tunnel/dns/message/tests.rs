use super::*;

/// A request with these labels, of this type and class.
fn request(labels: &[&[u8]], kind: u16, class: u16) -> Vec<u8> {
    let mut bytes = vec![0xab, 0xcd, 1, 0x20, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in labels {
        bytes.push(label.len() as u8);
        bytes.extend(*label);
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(class.to_be_bytes());
    // EDNS (RFC 6891), which is passed over.
    bytes.extend([0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// The code of an answer without a question.
fn code(parsed: Result<Question<'_>, Unasked>) -> u8 {
    let Err(Unasked::Answer(answer)) = parsed else { panic!("{parsed:?}") };
    assert_eq!((answer.len(), &answer[..2], answer[2] & 0x81), (HEADER, &[0xab, 0xcd][..], 0x81));
    assert!(answer[4..].iter().all(|b| *b == 0));
    answer[3] & 0xf
}

#[test]
fn addresses_are_answered_with_the_question() {
    let bytes = request(&[b"WWW", b"example", b"org"], 1, 1);
    let question = Question::parse(&bytes).expect("a question");
    assert_eq!((question.name.as_str(), question.kind), ("www.example.org", Kind::A));
    let answer = question.answer(Code::Fine, &["198.18.0.1".parse().unwrap()], 60);
    let end = bytes.len() - 11;
    assert_eq!(answer[..4], [0xab, 0xcd, 0x81, 0x80]);
    assert_eq!(answer[4..12], [0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(answer[12..end], bytes[12..end]);
    assert_eq!(answer[end..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 1]);
    let bytes = request(&[b"a_b-c", b"org"], 28, 1);
    let question = Question::parse(&bytes).expect("a question");
    assert_eq!((question.name.as_str(), question.kind), ("a_b-c.org", Kind::Aaaa));
    let answer = question.answer(Code::Fine, &["fd00::1".parse().unwrap()], 60);
    assert_eq!(answer[answer.len() - 18..][..2], [0, 16]);
    let none = question.answer(Code::Refused, &[], 60);
    assert_eq!((none[3] & 0xf, &none[6..8]), (5, &[0, 0][..]));
}

#[test]
fn kinds() {
    for (kind, class, expected) in [
        (1, 1, Kind::A),
        (28, 1, Kind::Aaaa),
        (64, 1, Kind::Service),
        (65, 1, Kind::Service),
        (15, 1, Kind::Other),
        (255, 1, Kind::Other),
        (1, 3, Kind::Other),
    ] {
        let bytes = request(&[b"x"], kind, class);
        assert_eq!(Question::parse(&bytes).expect("a question").kind, expected);
    }
}

/// Before, questions for services of such names, and for the root's servers, were told to make no sense.
#[test]
fn what_is_refused_may_have_any_name() {
    let names: [&[&[u8]]; 4] =
        [&[], &[b"My Printer", b"_ipp", b"_tcp", b"x"], &[b"\xff"], &[&[0xff; 63], &[0xff; 63]]];
    for name in names {
        for (kind, class) in [(2, 1), (12, 1), (33, 1), (1, 3)] {
            let bytes = request(name, kind, class);
            let question = Question::parse(&bytes).expect("a question");
            assert_eq!(question.kind, Kind::Other, "{name:?}");
            let answer = question.answer(Code::Refused, &[], 0);
            assert_eq!((answer[3] & 0xf, answer[5]), (5, 1));
            assert_eq!(answer[HEADER..], bytes[HEADER..bytes.len() - 11]);
        }
        for kind in [1, 28, 65] {
            assert_eq!(code(Question::parse(&request(name, kind, 1))), 1, "{name:?}");
        }
    }
    let long = request(&[&[b' '; 63], &[b' '; 63], &[b' '; 63], &[b' '; 62]], 12, 1);
    assert_eq!(code(Question::parse(&long)), 1, "longer than names are");
}

#[test]
fn what_makes_no_sense() {
    let good = request(&[b"x", b"org"], 1, 1);
    for len in 0..HEADER {
        assert_eq!(Question::parse(&good[..len]), Err(Unasked::Silence));
    }
    for len in HEADER..good.len() - 11 {
        assert_eq!(code(Question::parse(&good[..len])), 1, "{len}");
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    // Answers are not answered.
    assert_eq!(Question::parse(&with(2, 0x81)), Err(Unasked::Silence));
    assert_eq!(code(Question::parse(&with(2, 0x29))), 4);
    for (at, byte) in [(5, 0), (5, 2), (12, 0xc0), (13, b' '), (13, b'\r'), (13, 0), (13, 0xff)] {
        assert_eq!(code(Question::parse(&with(at, byte))), 1, "{at} {byte}");
    }
    assert_eq!(code(Question::parse(&request(&[], 1, 1))), 1, "the root");
    let label = [b'a'; 63];
    assert!(Question::parse(&request(&[&label, &label, &label, &label[..61]], 1, 1)).is_ok());
    let long = request(&[&label, &label, &label, &label[..62]], 1, 1);
    assert_eq!(code(Question::parse(&long)), 1);
}
