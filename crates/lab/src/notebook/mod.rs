//! Experiments as files, their results in folders, and what these say: the laboratory
//! behind `anabranch lab`.
//!
//! | part | what it is |
//! |---|---|
//! | `experiment` | a file in TOML: grids of factors, figures, claims |
//! | `case` | a combination of levels, and what is run for it |
//! | `session` | which runs are made, in which order, by which shard |
//! | `perform` | what a run yields: measured, predicted, simulated, computed |
//! | `record`, `folder` | a run as a line of JSON; results that a cut-off run goes on with |
//! | `estimate` | medians, bootstrap intervals, outliers |
//! | `sheet`, `pace` | the records of one case, of one state of the machine and at one pace |
//! | `verdict` | what becomes of a claim |
//! | `needed` | what the model says must be different for one to come out |
//! | `chart`, `page` | figures, and the report in one file of HTML |
//! | `compare`, `agree` | two folders against each other: medians, outcomes of claims |
//! | `merge` | several folders as one |
//! | `web` | web servers under load, which the program brings |
//! | `builtin` | the papers' evaluations |

pub mod agree;
pub mod builtin;
pub mod case;
pub mod chart;
pub mod compare;
pub mod estimate;
pub mod execute;
pub mod experiment;
pub mod factor;
pub mod folder;
pub mod level;
pub mod merge;
pub mod metric;
pub mod needed;
mod pace;
pub mod page;
pub mod perform;
pub mod record;
pub mod session;
pub mod sheet;
pub mod trouble;
pub mod verdict;
pub mod web;

pub use trouble::Trouble;
