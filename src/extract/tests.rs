use super::lines::Meaning;
use super::*;

fn rules(text: &str) -> Rules {
    toml::from_str(text).unwrap()
}

fn read(rules_text: &str, output: &str, exit: i32) -> Result<Found, String> {
    let compiled = Compiled::new(&rules(rules_text))?;
    let mut reading = Reading::new(&compiled);
    for line in output.lines() {
        reading.line(line);
    }
    reading.finish(exit, |name| Err(format!("{name}: no such file")))
}

#[test]
fn the_exit_code_alone_can_say_it() {
    let by = "exit_wrong = [1]";
    assert_eq!(read(by, "", 0).unwrap(), Found { total: 1, ..Found::default() });
    assert_eq!(read(by, "", 1).unwrap(), Found { total: 1, wrong: 1, ..Found::default() });
    assert!(read(by, "", 134).unwrap_err().contains("ended with 134"));
}

#[test]
fn numbers_on_lines_count_and_silence_is_an_error() {
    let by = "wrong = 'after .*wrong (\\d+)'\nuntouched = 'untouched ([\\d,]+)'\ntotal = 'of (\\d+)'";
    let output = "before wrong 0, untouched 0\nafter upload: wrong 24576, untouched 12,288 of 49152\n";
    let found = read(by, output, 0).unwrap();
    assert_eq!((found.wrong, found.untouched, found.total), (24_576, 12_288, 49_152));
    assert!(read(by, "nothing of the kind", 0).unwrap_err().contains("no line"));
    assert!(read("wrong = 'wrong (.*)'", "wrong many", 0).unwrap_err().contains("not a count"));
    let both = format!("{by}\nexit_wrong = [1]");
    let right = "after wrong 0, untouched 0 of 4";
    assert!(read(&both, right, 1).unwrap_err().contains("says wrong"), "a contradiction is no result");
}

#[test]
fn json_is_read_by_pointer() {
    let by = "[json]\nwrong = '/checks/1/wrong'\ntotal = '/total'";
    let output = "log\n{\"checks\": [{\"wrong\": 9}, {\"wrong\": 3}], \"total\": 8}\n";
    let found = read(by, output, 0).unwrap();
    assert_eq!((found.wrong, found.total), (3, 8));
    assert!(read(by, "{}", 0).unwrap_err().contains("no /checks/1/wrong"));
    assert!(read(by, "log", 0).unwrap_err().contains("no line of the output is JSON"));
    assert!(read("[json]\nfile = 'out.json'\nwrong = '/w'", "", 0).unwrap_err().contains("out.json"));
}

#[test]
fn a_series_is_scored_against_its_reference() {
    let by = "[series]\npattern = 'loss=(\\S+)'\nreference = ['1.5', '1.25', '0.5']\ntolerance = '1e-3'";
    let found = read(by, "loss=1.5\nloss=1.2504\nloss=nan\n", 0).unwrap();
    assert_eq!((found.total, found.wrong), (3, 1));
    assert!(read(by, "loss=1.5\n", 0).unwrap_err().contains("1 numbers, the reference 3"));
}

#[test]
fn a_session_has_steps_with_the_surfaces_life() {
    // The shape of seed 003's server: right once, then wrong for ever, with the unbind in between.
    let by = "[steps]\npattern = 'correlation (\\S+)'\nminimum = '0.3'\ncount = 3\nsurface = 93323264";
    let bind = |word: &str| format!("{word} BO-15 to VM 1, range: a - b, size: 93323264, result: 0\n");
    let output = format!(
        "{}image 1 correlation 0.85\n{}bind BO-9 to VM 1, size: 4096, result: 0\nimage 2 correlation 0.17\nimage 3 correlation nan\n",
        bind("bind"),
        bind("unbind")
    );
    let found = read(by, &output, 0).unwrap();
    assert_eq!((found.total, found.wrong), (3, 2));
    let life: Vec<_> = found.steps.iter().map(|s| (s.wrong, s.binds, s.unbinds)).collect();
    assert_eq!(life, [(false, 1, 0), (true, 1, 1), (true, 1, 1)]);
    assert!(read(by, "image 1 correlation 0.85\n", 0).unwrap_err().contains("1 of 3 steps"));

    let compiled = Compiled::new(&rules(by)).unwrap();
    let mut reading = Reading::new(&compiled);
    assert_eq!(
        reading.line("image 1 correlation 0.85"),
        Meaning::After,
        "the first step ends the check before"
    );
    assert_eq!(reading.line("image 2 correlation 0.85"), Meaning::None);
}

#[test]
fn rules_that_cannot_work_are_refused() {
    for bad in [
        "",
        "untouched = '(\\d+)'",
        "wrong = '('",
        "wrong = 'wrong \\d+'",
        "[series]\npattern = '(x)'\nreference = []",
        "[series]\npattern = '(x)'\nreference = ['one']",
        "[steps]\npattern = '(x)'\nminimum = 'low'\ncount = 3",
        "[steps]\npattern = '(x)'\nminimum = '0'\ncount = 1",
        "[steps]\npattern = '(x)'\ncount = 3",
    ] {
        assert!(Compiled::new(&rules(bad)).is_err(), "{bad}");
    }
}
