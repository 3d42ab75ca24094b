use super::*;

#[test]
fn names_and_organizations_are_one_to_one() {
    assert_eq!(Organization::all().len(), CATALOG.len());
    for organization in Organization::all() {
        assert_eq!(organization.to_string().parse(), Ok(organization));
        assert_eq!(Organization::named(organization.name()), organization);
    }
    assert_eq!(Organization::default(), Organization::UNIPROCESSOR);
    assert!(Organization::UNIPROCESSOR.is_single());
    assert!(Organization::GROUP_LOCKS.choices().contains(&Choice::Groups));
    let error = "uniprocesor".parse::<Organization>().expect_err("misspelled");
    assert!(
        error.to_string().contains("\"uniprocesor\"")
            && error.to_string().contains("engines-sched")
    );
}

/// The table in the module's documentation has each, and no other.
#[test]
fn the_table_is_complete() {
    let text = include_str!("../organization.rs");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next());
    let names: Vec<_> =
        Organization::all().map(Organization::name).filter(|n| *n != "combining").collect();
    assert_eq!(rows.collect::<Vec<_>>(), names);
}
