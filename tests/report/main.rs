//! `repro-matrix report` and its neighbours, on results of the real driver on the simulated device, and on damaged ones.

mod baseline;
mod damage;
mod diff;
mod environment;
mod formats;
mod full_disk;
mod html;
mod left_out;
mod live;
mod observers;
mod scale;
mod search_path;
mod slow_model;
mod slurm;
#[path = "../support/standin.rs"]
mod standin;
mod stopping;
mod support;
mod terminal;
