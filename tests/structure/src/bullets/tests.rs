use super::*;

fn words(n: usize) -> String {
    vec!["word"; n].join(" ")
}

#[test]
fn long_items_are_found_and_others_not() {
    let long = format!("# Title\n\n- {}\n  {}\n- short\n", words(40), words(41));
    assert_eq!(bullets("a.md", &long), ["long item: a.md \"word word word word\" (81 words)"]);
    let fits = format!("- {}\n  {}\n", words(40), words(40));
    assert!(bullets("a.md", &fits).is_empty());
    let two = format!("1. {}\n2. {}\n", words(80), words(81));
    assert_eq!(bullets("a.md", &two).len(), 1);
}

#[test]
fn paragraphs_tables_and_code_are_no_items() {
    let long = words(200);
    assert!(bullets("a.md", &format!("{long}\n\n| {long} |\n")).is_empty());
    assert!(bullets("a.md", &format!("```\n- {long}\n```\n")).is_empty());
    // A paragraph behind a list is none of it.
    assert!(bullets("a.md", &format!("- short\n\n{long}\n")).is_empty());
    assert!(bullets("a.md", &format!("Since 1.5 {long}\n")).is_empty());
}
