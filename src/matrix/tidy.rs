//! What is legal in a matrix file and still wants a second look: definitions that nothing uses, untidy text.

use std::collections::BTreeSet;

use super::problem::Problems;
use super::{Matrix, Problem, expand};
use crate::model::arm::Observer;

/// In the order of the file.
pub fn problems(matrix: &Matrix) -> Vec<Problem> {
    let mut found = Problems::new(&matrix.text);
    text(&matrix.text, &mut found);
    unused(matrix, &mut found);
    unmeasured(matrix, &mut found);
    // On any machine: what only one of them lacks is no fault of the file.
    if expand::expand(matrix).iter().all(|cell| cell.excluded.is_some()) {
        let problem = Problem::new(0..0, "the matrix excludes all of its arms");
        found.push(problem.help("`run` would have nothing to do"));
    }
    if matrix.description.trim().is_empty() {
        found.push(Problem::new(0..0, "the matrix has no description").help("say what it is to find out"));
    }
    found.into_sorted()
}

fn text(text: &str, found: &mut Problems<'_>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let end = at + bare.len();
        if line.ends_with("\r\n") {
            found.push(Problem::new(end..end + 1, "the line ends with a carriage return"));
        }
        let tidy = bare.trim_end();
        if tidy.len() < bare.len() {
            found.push(Problem::new(at + tidy.len()..end, "white space at the end of the line"));
        }
        if let Some(tab) = bare.find('\t') {
            found.push(Problem::new(
                at + tab..at + tab + 1,
                "a tab: it is as wide as the reader's editor makes it",
            ));
        }
        at += line.len();
    }
    if !text.ends_with('\n') {
        found.push(Problem::new(text.len().saturating_sub(1)..text.len(), "the last line has no end"));
    }
}

fn unused(matrix: &Matrix, found: &mut Problems<'_>) {
    let cells = expand::expand(matrix);
    let used = |name: fn(&crate::model::arm::Arm) -> &str| -> BTreeSet<&str> {
        cells.iter().map(|cell| name(&cell.arm)).collect()
    };
    let sections: [(&str, Vec<&String>, BTreeSet<&str>); 4] = [
        ("variants", matrix.variants.keys().collect(), used(|arm| &arm.variant.name)),
        ("sources", matrix.sources.keys().collect(), used(|arm| &arm.source.name)),
        ("keys", matrix.keys.keys().collect(), used(|arm| &arm.keys.name)),
        ("workloads", matrix.workloads.keys().collect(), used(|arm| &arm.workload.name)),
    ];
    for (section, defined, used) in sections {
        for name in defined.into_iter().filter(|name| !used.contains(name.as_str())) {
            let header = [format!("[{section}.{name}]"), format!("[{section}.\"{name}\"]")];
            let place = header.iter().find_map(|header| Some((matrix.text.find(header)?, header.len())));
            // The set `default` exists without being written.
            if let Some((at, len)) = place {
                found.push(Problem::new(at..at + len, format!("no arm uses {section}.{name}")));
            }
        }
    }
}

/// Expectations that no run of the arm can answer, each place of the file once.
fn unmeasured(matrix: &Matrix, found: &mut Problems<'_>) {
    let mut told = BTreeSet::new();
    for cell in expand::expand(matrix).into_iter().filter(|cell| cell.excluded.is_none()) {
        let Some(expect) = &cell.arm.expect else { continue };
        let at = (cell.origin.start, cell.origin.end);
        if expect.per_dispatch.is_some()
            && !cell.arm.observers.contains(&Observer::NeoLog)
            && told.insert((at, "per_dispatch"))
        {
            let id = &cell.arm.id;
            found.push(
                Problem::new(
                    cell.origin.clone(),
                    format!("nothing measures the `per_dispatch` that {id} expects"),
                )
                .help("the observer neo-log reads it; without it the arm ends inconclusive"),
            );
        }
        let counted = expect.wrong.is_some() || expect.untouched.is_some();
        if counted && executes_no_kernels(&cell.arm.device) && told.insert((at, "wrong")) {
            let (id, device) = (&cell.arm.id, &cell.arm.device);
            found.push(
                Problem::new(
                    cell.origin.clone(),
                    format!("{device} executes no kernels: nothing counts the elements that {id} expects"),
                )
                .help("take `wrong` and `untouched` out, or name a device that executes kernels"),
            );
        }
    }
}

fn executes_no_kernels(device: &str) -> bool {
    let name = device.strip_prefix("sim:");
    name.and_then(xe_sim::profile::by_name).is_some_and(|profile| profile.geometry().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "name = \"m\"\ndescription = \"d\"\n[variants.v]\nkernels = 1\n[sources.s]\nkind = \"none\"\n[workloads.w]\nskip_upload = true\n[[arm]]\nvariant = \"v\"\nsource = \"s\"\nworkload = \"w\"\n";

    fn told(text: &str) -> Vec<String> {
        let matrix = super::super::parse("m.toml", text.as_bytes()).unwrap();
        problems(&matrix).into_iter().map(|p| p.message).collect()
    }

    #[test]
    fn a_tidy_file_has_no_problem_and_an_untidy_one_has_each() {
        assert_eq!(told(PLAIN), Vec::<String>::new());
        assert_eq!(
            told(&PLAIN.replace("kernels = 1\n", "kernels = 1  \n")),
            ["white space at the end of the line"]
        );
        assert_eq!(told(&PLAIN.replace("kernels = 1\n", "kernels =\t1\n")).len(), 1);
        assert_eq!(told(PLAIN.trim_end()), ["the last line has no end"]);
        assert_eq!(told(&PLAIN.replace("description = \"d\"\n", "")), ["the matrix has no description"]);
        let expecting =
            format!("{PLAIN}expect = {{ verdict = \"clean\", per_dispatch = false, wrong = 0 }}\n");
        assert_eq!(told(&expecting), Vec::<String>::new());
        assert_eq!(
            told(&format!("{expecting}observers = []\ndevice = \"sim:b580\"\n")),
            [
                "nothing measures the `per_dispatch` that v/s/w/sim-b580 expects",
                "sim:b580 executes no kernels: nothing counts the elements that v/s/w/sim-b580 expects"
            ]
        );
        let product = "[[product]]\nvariants = [\"v\"]\nsources = [\"s\"]\nworkloads = [\"w\"]\n";
        let all_excluded = PLAIN.split_once("[[arm]]").unwrap().0.to_owned()
            + product
            + "exclude = [{ variant = \"v\", reason = \"r\" }]\n";
        assert_eq!(told(&all_excluded), ["the matrix excludes all of its arms"]);
        assert_eq!(told(&format!("{PLAIN}[variants.x]\nkernels = 2\n")), ["no arm uses variants.x"]);
    }
}
