//! The rules at work, line by line: nothing of the output is kept but what a rule asked for.

use regex::Regex;

use super::{Found, Rules, Session, json};

/// Rules with their expressions compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    rules: Rules,
    wrong: Option<Regex>,
    untouched: Option<Regex>,
    total: Option<Regex>,
    after: Option<Regex>,
    series: Option<(Regex, Vec<f64>, f64)>,
    steps: Option<Session>,
}

impl Compiled {
    /// Says which rule makes no sense, and why.
    pub fn new(rules: &Rules) -> Result<Compiled, String> {
        if rules.is_empty() {
            return Err("no rule says what is wrong: exit_wrong, wrong, json, series or steps".to_owned());
        }
        let one = |what: &str, text: &Option<String>, groups: usize| -> Result<Option<Regex>, String> {
            text.as_ref().map(|text| expression(what, text, groups)).transpose()
        };
        let series = match &rules.series {
            None => None,
            Some(series) => {
                let number = |text: &String| {
                    text.trim().parse::<f64>().map_err(|_| format!("series: `{text}` is not a number"))
                };
                let reference: Vec<f64> = series.reference.iter().map(number).collect::<Result<_, _>>()?;
                if reference.is_empty() {
                    return Err("series: the reference has no number".to_owned());
                }
                let tolerance = series.tolerance.as_ref().map_or(Ok(0.0), number)?;
                if !tolerance.is_finite() || tolerance < 0.0 {
                    return Err(format!("series: a tolerance of {tolerance}"));
                }
                Some((expression("series", &series.pattern, 1)?, reference, tolerance))
            }
        };
        Ok(Compiled {
            wrong: one("wrong", &rules.wrong, 1)?,
            untouched: one("untouched", &rules.untouched, 1)?,
            total: one("total", &rules.total, 1)?,
            after: one("after", &rules.after, 0)?,
            series,
            steps: rules.steps.as_ref().map(Session::new).transpose()?,
            rules: rules.clone(),
        })
    }
}

pub(super) fn expression(what: &str, text: &str, groups: usize) -> Result<Regex, String> {
    let regex = Regex::new(text).map_err(|error| format!("{what}: {error}"))?;
    if regex.captures_len() < groups + 1 {
        return Err(format!("{what}: `{text}` has no group (…) for the number"));
    }
    Ok(regex)
}

/// A command's output being read.
#[derive(Debug)]
pub struct Reading {
    by: Compiled,
    wrong: Option<u64>,
    untouched: Option<u64>,
    total: Option<u64>,
    values: Vec<f64>,
    last_json: Option<String>,
    bad: Option<String>,
}

/// What a line meant for the course of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    None,
    /// What comes from here on is after the trigger.
    After,
}

impl Reading {
    pub fn new(by: &Compiled) -> Reading {
        Reading {
            by: by.clone(),
            wrong: None,
            untouched: None,
            total: None,
            values: Vec::new(),
            last_json: None,
            bad: None,
        }
    }

    /// One line of either stream, in the order in which they came.
    pub fn line(&mut self, line: &str) -> Meaning {
        /// More numbers than any reference has.
        const MOST_VALUES: usize = 1 << 20;
        let count = |regex: &Option<Regex>, bad: &mut Option<String>| {
            let text = regex.as_ref()?.captures(line)?.get(1)?.as_str();
            match text.replace(',', "").parse::<u64>() {
                Ok(number) => Some(number),
                Err(_) => {
                    bad.get_or_insert(format!("`{text}` in \"{line}\" is not a count"));
                    None
                }
            }
        };
        self.wrong = count(&self.by.wrong, &mut self.bad).or(self.wrong);
        self.untouched = count(&self.by.untouched, &mut self.bad).or(self.untouched);
        self.total = count(&self.by.total, &mut self.bad).or(self.total);
        if let Some((regex, ..)) = &self.by.series
            && let Some(text) = regex.captures(line).and_then(|found| found.get(1))
            && self.values.len() < MOST_VALUES
        {
            // A number that cannot be read is as wrong as a NaN: it will equal nothing.
            self.values.push(text.as_str().trim().parse().unwrap_or(f64::NAN));
        }
        if self.by.rules.json.is_some() && line.trim_start().starts_with('{') {
            self.last_json = Some(line.to_owned());
        }
        let first_step = self.by.steps.as_mut().is_some_and(|steps| steps.line(line) == Some(1));
        let marked = self.by.after.as_ref().is_some_and(|regex| regex.is_match(line));
        if first_step || marked { Meaning::After } else { Meaning::None }
    }

    /// The result, once the command has ended. `file` reads the file of the JSON rule. Rules that found nothing are an
    /// error: silence is not a clean result.
    pub fn finish(
        self,
        exit: i32,
        file: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Found, String> {
        if let Some(bad) = self.bad {
            return Err(bad);
        }
        let mut found = Found::default();
        let wrong_exit = self.by.rules.exit_wrong.as_ref().is_some_and(|codes| codes.contains(&exit));
        if exit != 0 && !wrong_exit {
            return Err(format!("the command ended with {exit}"));
        }
        if self.by.wrong.is_some() {
            let wrong = self.wrong.ok_or("no line of the output has the number of wrong elements")?;
            found.wrong += wrong;
            found.untouched += self.untouched.unwrap_or(0);
            found.total += match (&self.by.total, self.total) {
                (Some(_), None) => return Err("no line of the output has the total".to_owned()),
                (_, total) => total.unwrap_or(wrong.max(1)),
            };
        }
        if let Some(rules) = &self.by.rules.json {
            let text = match &rules.file {
                Some(name) => file(name)?,
                None => self.last_json.ok_or("no line of the output is JSON")?,
            };
            json::read(rules, &text, &mut found)?;
        }
        if let Some((_, reference, tolerance)) = &self.by.series {
            if self.values.len() != reference.len() {
                let (has, wants) = (self.values.len(), reference.len());
                return Err(format!("the series has {has} numbers, the reference {wants}"));
            }
            found.total += reference.len() as u64;
            let right = |value: &f64, wanted: &f64| {
                value.to_bits() == wanted.to_bits() || (value - wanted).abs() <= *tolerance
            };
            let wrong = self.values.iter().zip(reference).filter(|(value, wanted)| !right(value, wanted));
            found.wrong += wrong.count() as u64;
        }
        if let Some(steps) = self.by.steps {
            found.steps = steps.finish()?;
            found.total += found.steps.len() as u64;
            found.wrong += found.steps.iter().filter(|step| step.wrong).count() as u64;
        }
        if self.by.rules.exit_wrong.is_some() && found.total == 0 {
            // The exit code is all there is: one element, right or wrong.
            found.total = 1;
            found.wrong = u64::from(wrong_exit);
        } else if wrong_exit && found.wrong == 0 {
            return Err(format!("exit code {exit} says wrong, and the output says that nothing is"));
        }
        Ok(found)
    }
}
