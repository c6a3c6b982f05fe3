//! A module of a recipe, from the images of its compilations.

use std::collections::{BTreeMap, BTreeSet};

use super::BuiltModule;
use super::cache::{self, Hit, Origin, PartUsed};
use super::error::{BuildError, Cause};
use super::image::{Image, Images};
use super::join::{self, JOIN_VERSION, JoinError};
use super::recipe::{How, ModuleRecipe, Recipe};
use super::source::Kernel;
use super::zebin;
use crate::model::arm::ModuleFormat;

/// A module, and the compilations in it: key → seconds.
pub struct Assembled {
    pub module: BuiltModule,
    pub used: Vec<(String, f64)>,
}

/// Why there is no module.
#[derive(Debug, thiserror::Error)]
pub enum NotJoined {
    #[error(transparent)]
    Failed(#[from] BuildError),
    /// The compiler can still make the module as a whole.
    #[error(transparent)]
    Parts(JoinError),
}

impl NotJoined {
    pub fn into_error(self) -> BuildError {
        match self {
            NotJoined::Failed(error) => error,
            NotJoined::Parts(error) => BuildError::early(Cause::BadImage(error.to_string())),
        }
    }
}

/// The key of a module that is put together: what its parts are made of, and what is taken of each.
pub fn key(images: &Images<'_>, recipe: &Recipe, taken: &[(usize, Kernel)]) -> String {
    let version = JOIN_VERSION.to_string();
    let mut words = vec!["join".to_owned(), version];
    for (index, kernels) in groups(taken) {
        words.extend(recipe.compilations.get(index).map(|part| images.key(&part.text)));
        words.extend(kernels);
    }
    cache::key(words.iter().map(String::as_str))
}

/// Makes one module of `recipe`. `ready` is what the cache had under [`key`]; else the compilations must be there.
pub fn module(
    images: &Images<'_>,
    recipe: &Recipe,
    module: &ModuleRecipe,
    ready: Option<&Hit>,
    compiled: &BTreeMap<usize, Image>,
) -> Result<Assembled, NotJoined> {
    let missing = || BuildError::early(Cause::Interrupted);
    let asked: Vec<Kernel>;
    let image = match (&module.how, ready) {
        (How::Whole(index), _) => {
            asked = recipe.compilations.get(*index).map(|part| part.kernels.clone()).unwrap_or_default();
            let image = compiled.get(index).ok_or_else(missing)?;
            Image { hit: image.hit.clone(), cached: image.cached, note: None }
        }
        (How::FromParts(taken), Some(hit)) => {
            asked = taken.iter().map(|(_, kernel)| *kernel).collect();
            Image { hit: hit.clone(), cached: true, note: None }
        }
        (How::FromParts(taken), None) => {
            asked = taken.iter().map(|(_, kernel)| *kernel).collect();
            let mut unjoined = None;
            let made = images.made(&key(images, recipe, taken), |_| {
                let parts = Parts::of(images, recipe, taken, compiled).ok_or_else(missing)?;
                let image = parts.join().map_err(|error| {
                    let failed = BuildError::early(Cause::BadImage(error.to_string()));
                    unjoined = Some(error);
                    failed
                })?;
                Ok((image, parts.origin))
            });
            match (made, unjoined) {
                (Err(_), Some(error)) => return Err(NotJoined::Parts(error)),
                (made, _) => {
                    let cached = taken.iter().all(|(index, _)| compiled.get(index).is_some_and(|i| i.cached));
                    Image { cached, ..made? }
                }
            }
        }
    };
    built(images, &module.name, &asked, image).map_err(NotJoined::Failed)
}

/// The loaded image is checked: it must hold the kernels that were asked for, and, if it was put together, no others.
/// (IGC adds a kernel without a name of ours to a module with constants.)
fn built(images: &Images<'_>, name: &str, asked: &[Kernel], image: Image) -> Result<Assembled, BuildError> {
    let bad = |what: String| BuildError::early(Cause::BadImage(what));
    let kernels = zebin::inspect(&image.hit.image, images.format).map_err(|e| bad(e.to_string()))?;
    if images.format == ModuleFormat::Native {
        let found: BTreeSet<&str> = kernels.iter().flatten().map(|kernel| kernel.name.as_str()).collect();
        let names = asked.iter().map(|kernel| kernel.name());
        let missing: Vec<String> = names.filter(|kernel| !found.contains(kernel.as_str())).collect();
        if !missing.is_empty() {
            return Err(bad(format!("{name} has no kernel {}", missing.join(", "))));
        }
        let joined = !image.hit.entry.origin.parts.is_empty();
        if joined && found.len() != asked.len() {
            return Err(bad(format!("{name} holds {} kernels, not {}", found.len(), asked.len())));
        }
    }
    let Hit { path, entry, .. } = image.hit;
    let used = match entry.origin.parts.as_slice() {
        [] => vec![(entry.sha256.clone(), entry.origin.seconds)],
        parts => parts.iter().map(|part| (part.key.clone(), part.seconds)).collect(),
    };
    let module = BuiltModule {
        name: name.to_owned(),
        path,
        bytes: entry.bytes,
        sha256: entry.sha256,
        command: entry.origin.command,
        parts: entry.origin.parts,
        cached: image.cached,
        kernels,
    };
    Ok(Assembled { module, used })
}

/// The parts of one module, each once.
struct Parts<'a> {
    images: Vec<&'a [u8]>,
    /// Index in `images`, name.
    kernels: Vec<(usize, String)>,
    origin: Origin,
}

impl<'a> Parts<'a> {
    /// `None` when a compilation is not there.
    fn of(
        images: &Images<'_>,
        recipe: &Recipe,
        taken: &[(usize, Kernel)],
        compiled: &'a BTreeMap<usize, Image>,
    ) -> Option<Self> {
        let mut parts = Parts {
            images: Vec::new(),
            kernels: Vec::new(),
            origin: Origin { command: images.command(), ..Origin::default() },
        };
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, kernel) in taken {
            let place = match places.get(index) {
                Some(place) => *place,
                None => {
                    let part = compiled.get(index)?;
                    let seconds = part.hit.entry.origin.seconds;
                    let key = images.key(&recipe.compilations.get(*index)?.text);
                    parts.images.push(&part.hit.image);
                    parts.origin.parts.push(PartUsed { key, seconds, kernels: Vec::new() });
                    parts.origin.seconds += seconds;
                    places.insert(*index, parts.images.len() - 1);
                    parts.images.len() - 1
                }
            };
            parts.kernels.push((place, kernel.name()));
            parts.origin.parts.get_mut(place)?.kernels.push(kernel.name());
        }
        Some(parts)
    }

    fn join(&self) -> Result<Vec<u8>, JoinError> {
        join::join(&self.images, &self.kernels)
    }
}

/// Runs of kernels from one part.
fn groups(taken: &[(usize, Kernel)]) -> Vec<(usize, Vec<String>)> {
    let mut groups: Vec<(usize, Vec<String>)> = Vec::new();
    for (index, kernel) in taken {
        match groups.last_mut() {
            Some((last, kernels)) if last == index => kernels.push(kernel.name()),
            _ => groups.push((*index, vec![kernel.name()])),
        }
    }
    groups
}
