use super::*;

#[test]
fn a_cookie_has_4_to_16_bytes_and_an_even_number() {
    // RFC 7413 4.1.1/1, 4.1.1/2
    for len in 0..=18 {
        let mut bytes = vec![KIND, 2 + len];
        bytes.extend(std::iter::repeat_n(7, len.into()));
        let right = len == 0 || (4..=16).contains(&len) && len % 2 == 0;
        let found = FastOpen::find(&bytes);
        assert_eq!(found.map(|o| o.cookie().to_vec()), right.then(|| bytes[2..].to_vec()));
    }
}

#[test]
fn what_is_written_is_found_behind_other_options() {
    let cookies = [&[][..], &[1, 2, 3, 4], &[9; 8], &[5; 16]];
    for (cookie, experimental) in cookies.into_iter().flat_map(|c| [(c, false), (c, true)]) {
        let option = FastOpen::new(cookie).expect("such there are");
        let option = option.with_experimental(experimental);
        let mut bytes = vec![1, 2, 4, 5, 0xb4, 34, 5, 1, 2, 3];
        let at = bytes.len();
        bytes.resize(at + option.len(), 0xff);
        option.emit(&mut bytes[at..]);
        assert_eq!(FastOpen::find(&bytes), Some(option));
        assert!(option.len() <= 20 && option.len().is_multiple_of(4));
        assert_eq!(option.is_request(), cookie.is_empty());
        assert_eq!(option.is_experimental(), experimental);
    }
}

#[test]
fn what_makes_no_sense_is_none() {
    let experiments =
        [&[254, 2][..], &[254, 3, 0xf9], &[254, 4, 0xf9, 0x88], &[254, 6, 1, 2, 3, 4]];
    for bytes in [&[][..], &[34], &[34, 0], &[34, 1], &[34, 9, 1], &[0, 34, 2], &[2, 200, 34, 2]]
        .into_iter()
        .chain(experiments)
    {
        assert_eq!(FastOpen::find(bytes), None, "{bytes:?}");
    }
}
