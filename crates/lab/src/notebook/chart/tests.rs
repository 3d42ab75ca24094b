use super::*;
use crate::notebook::execute::execute;
use crate::notebook::folder::{Contents, Folder, read};
use crate::notebook::record::Setting;
use crate::notebook::session::{Session, Shard};
use crate::notebook::sheet::machines;
use crate::notebook::web::NoWebServers;

/// What comes of a file.
pub(crate) fn made(text: &str) -> Contents {
    let place = tempfile::tempdir().expect("a folder");
    let experiments = vec![Experiment::parse("a.toml", text).expect("good")];
    let session = Session { experiments, full: false, seed: 1, shard: Shard::WHOLE };
    let mut folder = Folder::create(place.path(), &session).expect("new");
    let setting = Setting::here("abc", "anabranch lab <run>");
    execute(&mut folder, &session, Vec::new(), &setting, &NoWebServers, &mut |_| {}).expect("room");
    drop(folder);
    read(place.path()).expect("whole")
}

fn drawn(text: &str) -> Vec<Panel> {
    let contents = made(text);
    let experiment = &contents.session.experiments[0];
    let machine = &machines(&contents.records)[0];
    let sheet = Sheet::of(&contents.records, &experiment.name, &experiment.grids[0], machine);
    panels(experiment, &experiment.figures[0], &sheet)
}

const SIMULATED: &str = "name = \"a\"\n[[grid]]\nfrom = \"simulator\"\ncosts = \"yates1996\"\n\
    organization = [\"engines\", \"processor-per-connection\"]\nprocessors = [1, 2, 4]\n\
    burst = [1, 16]\n[[figure]]\ntitle = \"Scale\"\ngrid = \"grid\"\nx = \"processors\"\n\
    y = \"gbit_per_s\"\n";

#[test]
fn organizations_are_curves_and_other_factors_panels() {
    let panels = drawn(SIMULATED);
    assert_eq!(panels.len(), 2);
    for (panel, burst) in panels.iter().zip(["burst 1", "burst 16"]) {
        assert!(panel.title.ends_with(burst), "{}", panel.title);
        let svg = panel.svg.as_ref().expect("drawn");
        // Simulated: it is said, and drawn dashed, so in more than one stroke.
        assert!(svg.contains("engines (simulated)"), "{svg}");
        // Where it is from.
        assert!(svg.contains(" processors; 60 runs, 20"), "{svg}");
        assert_eq!(panel.rows.len(), 6);
        assert!(panel.rows.iter().all(|row| row.len() == panel.header.len()));
        assert!(panel.notes.iter().any(|note| note.starts_with("Dashed: simulated")));
    }
}

#[test]
fn an_organization_has_its_colour_wherever_it_is() {
    let colour = |organizations: &str| {
        let text = SIMULATED.replace("[\"engines\", \"processor-per-connection\"]", organizations);
        let panel = drawn(&text).remove(0);
        let svg = panel.svg.expect("drawn");
        let name = svg.find("processor-per-connection (").expect("its name");
        let text = svg[..name].rfind("fill=\"").expect("a colour");
        svg[text..text + 15].to_owned()
    };
    let alone = colour("[\"processor-per-connection\", \"uniprocessor\"]");
    assert_eq!(alone, colour("[\"engines\", \"processor-per-connection\", \"group-locks\"]"));
}

#[test]
fn what_is_measured_is_a_whole_line() {
    let text = "name = \"a\"\nquick = { repeat = 5, seconds = 0.02, warm_up = 0.01 }\n[[grid]]\n\
        connections = [1, 4]\n[[figure]]\ntitle = \"T\"\ngrid = \"grid\"\n\
        x = \"connections\"\ny = \"gbit_per_s\"\nlog_x = true\n";
    let panel = drawn(text).remove(0);
    let svg = panel.svg.expect("drawn");
    assert!(!svg.contains("(predicted)") && !svg.contains("(simulated)"));
    assert_eq!(panel.rows.len(), 2);
    assert_eq!(panel.rows[0][6], "5");
    let missing = text.replace("gbit_per_s", "cache_misses_per_kb");
    assert!(drawn(&missing).remove(0).svg.expect_err("none").contains("hardware counters"));
}

#[test]
fn numbers_have_four_digits() {
    let shown = [0.0, 1.0, 12.3456, 0.000123456, 123456.7, f64::INFINITY].map(digits);
    assert_eq!(shown, ["0", "1.000", "12.35", "0.0001235", "123457", "inf"]);
}
