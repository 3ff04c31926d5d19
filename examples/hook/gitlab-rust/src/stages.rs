//! Stages: the graph of needs to an order of stages. Refuses needs that nobody meets and orders that cannot be.

use crate::findings::Findings;
use crate::messages::JobDefinition;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// There in every pipeline, first and last, without being listed.
const BUILT_IN: [&str; 2] = [".pre", ".post"];

#[derive(Default)]
pub struct Stages {
    /// In the order in which they run.
    pub names: Vec<String>,
    /// Of each job, in the order of the jobs: a place in `names`.
    pub of_jobs: Vec<usize>,
}

impl Stages {
    pub fn listed(&self) -> Vec<&str> {
        let names = self.names.iter().map(String::as_str);
        names.filter(|name| !BUILT_IN.contains(name)).collect()
    }
}

/// The stage that the author of a job chose. Some hosts say `default` where nobody did.
pub fn chosen(job: &JobDefinition) -> &str {
    if job.stage == "default" { "" } else { &job.stage }
}

/// What comes out is only of use if no error was found.
pub fn arrange(jobs: &[JobDefinition], findings: &mut Findings) -> Stages {
    let Some(needs) = resolve(jobs, findings) else {
        return Stages::default();
    };
    let all: BTreeSet<(usize, usize)> = (0..jobs.len()).map(|job| (0, job)).collect();
    let Some(order) = sort(&all, &needs) else {
        findings.error(
            "GITLAB_NEEDS_CYCLE",
            "jobs need each other in a circle".into(),
            "Remove one of the needs.",
        );
        return Stages::default();
    };
    let mut depths = vec![0; jobs.len()];
    for &job in &order {
        depths[job] = needs[job].iter().map(|&need| depths[need] + 1).max().unwrap_or(0);
    }
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    let mut of_jobs = Vec::new();
    let mut firsts: Vec<(usize, usize)> = Vec::new();
    for (job, &depth) in jobs.iter().zip(&depths) {
        let name = if chosen(job).is_empty() { format!("stage-{}", depth + 1) } else { job.stage.clone() };
        let place = *places.entry(name.clone()).or_insert_with(|| {
            names.push(name);
            firsts.push((depth, firsts.len()));
            firsts.len() - 1
        });
        firsts[place].0 = firsts[place].0.min(depth);
        of_jobs.push(place);
    }
    in_order(names, of_jobs, &firsts, &needs, findings)
}

/// The needs of each job as places in the list of jobs.
fn resolve(jobs: &[JobDefinition], findings: &mut Findings) -> Option<Vec<Vec<usize>>> {
    let mut places = HashMap::new();
    for (place, job) in jobs.iter().enumerate() {
        if job.id.is_empty() || places.insert(job.id.as_str(), place).is_some() {
            findings.error(
                "GITLAB_JOB_ID",
                format!("the job id {:?} is empty or given twice", job.id),
                "Give each job an id of its own.",
            );
        }
    }
    let mut needs = Vec::with_capacity(jobs.len());
    for job in jobs {
        let mut found = Vec::with_capacity(job.needs.len());
        for need in &job.needs {
            match places.get(need.as_str()) {
                Some(&place) => found.push(place),
                None => findings.error(
                    "GITLAB_UNKNOWN_NEED",
                    format!("the job {:?} needs {need:?}, which is no job", job.id),
                    "Correct the name, or add the job.",
                ),
            }
        }
        needs.push(found);
    }
    (!findings.has_errors).then_some(needs)
}

/// Stages in an order in which every job comes after what it needs, the shallowest first where there is a choice.
fn in_order(
    names: Vec<String>,
    of_jobs: Vec<usize>,
    firsts: &[(usize, usize)],
    needs: &[Vec<usize>],
    findings: &mut Findings,
) -> Stages {
    let mut before = vec![HashSet::new(); names.len()];
    for (job, needed) in needs.iter().enumerate() {
        for &need in needed {
            if of_jobs[need] != of_jobs[job] {
                before[of_jobs[job]].insert(of_jobs[need]);
            }
        }
    }
    let before: Vec<Vec<usize>> = before.into_iter().map(|set| set.into_iter().collect()).collect();
    let Some(order) = sort(&firsts.iter().copied().collect(), &before) else {
        findings.error(
            "GITLAB_STAGE_CYCLE",
            "no order of the stages lets every job run after what it needs".into(),
            "Move a job to another stage, or leave `stage` out.",
        );
        return Stages::default();
    };
    let moved: BTreeMap<usize, usize> = order.iter().enumerate().map(|(new, &old)| (old, new)).collect();
    Stages {
        names: order.iter().map(|&place| names[place].clone()).collect(),
        of_jobs: of_jobs.iter().map(|place| moved[place]).collect(),
    }
}

/// Places in an order in which each follows those before it; None if there is none. Of those that could be next, the
/// least (rank, place) is. Without recursion: a chain of needs may be long.
fn sort(ranked: &BTreeSet<(usize, usize)>, before: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut after = vec![Vec::new(); before.len()];
    let mut waiting = vec![0; before.len()];
    let mut ranks = vec![0; before.len()];
    for &(rank, place) in ranked {
        ranks[place] = rank;
        waiting[place] = before[place].len();
        for &earlier in &before[place] {
            after[earlier].push(place);
        }
    }
    let mut ready: BTreeSet<(usize, usize)> =
        ranked.iter().filter(|(_, place)| waiting[*place] == 0).copied().collect();
    let mut order = Vec::with_capacity(before.len());
    while let Some((_, place)) = ready.pop_first() {
        order.push(place);
        for &later in &after[place] {
            waiting[later] -= 1;
            if waiting[later] == 0 {
                ready.insert((ranks[later], later));
            }
        }
    }
    (order.len() == before.len()).then_some(order)
}
