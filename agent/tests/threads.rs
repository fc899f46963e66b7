//! Agents that are threads of this process, over channels, with real regions: each has a rank of
//! its own, as if it were on a host of its own.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tcasm_agent::transport::{Channels, channels};
use tcasm_agent::{Agent, AgentError, Decision, Observed, Settings};
use tcasm_observer::GroupVersion;
use tcasm_producer::ndarray::Ix1;
use tcasm_producer::{Field, Group, Producer};
use tcasm_tests::child::{DEADLINE, poll_until};
use tcasm_tests::ranks::value;
use tcasm_tests::{PublishVisible, name};

const NODES: u32 = 3;
const LENGTH: usize = 64;
/// The last step of a job.
const LAST: u64 = 200;
/// The wish of agents that have not agreed on the last step.
const RUNS: u64 = 1 << 1;

type OverChannels = Agent<Observed, Channels>;

/// Returns the name of the group on a node. Real hosts have the same name and other folders.
fn group_of(job: &str, node: u32) -> String {
    format!("{job}-node{node}")
}

/// A rank, the only one of its node.
struct Rank {
    number: u32,
    producer: Producer,
    u: Field<u64, Ix1>,
}

impl Rank {
    fn create(job: &str, number: u32) -> Rank {
        let place = Group::new(number, NODES).local_ranks(1).run("one");
        let builder = Producer::builder(&group_of(job, number)).group(place);
        let builder = builder.capacity(1 << 20).history(3).versions(12);
        let mut producer = builder.create().unwrap();
        let u = producer.field::<u64, _>("u", [LENGTH]).add().unwrap();
        Rank {
            number,
            producer,
            u,
        }
    }

    fn publish(&mut self, step: u64) {
        let values = self.producer.view_mut(self.u).unwrap();
        for (i, v) in values.into_iter().enumerate() {
            *v = value(self.number, step, i);
        }
        let receipt = self.producer.publish_visible(step, 0.0).unwrap();
        assert!(receipt.version().is_some(), "step {step} was skipped");
    }

    /// Publishes most steps, and the last one, at a speed that changes. Ends when `stay` does.
    fn run(mut self, stay: &Receiver<()>) {
        let mut random = u64::from(self.number) + 1;
        for step in 1..=LAST {
            // An xorshift generator.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            thread::sleep(Duration::from_micros(random % 2000));
            if !random.is_multiple_of(8) || step == LAST {
                self.publish(step);
            }
        }
        let _ = stay.recv();
    }
}

fn agent(job: &str, node: u32, end: Channels) -> OverChannels {
    let settings = Settings {
        patience: Duration::from_millis(1),
        ..Settings::default()
    };
    Agent::new(Observed::new(&group_of(job, node)), end, settings)
}

fn assert_right(version: &GroupVersion, step: u64) {
    assert_eq!((version.step(), version.members().len()), (step, 1));
    for (rank, member) in version.members() {
        let view = member.view().unwrap();
        let u = view.array::<u64>("u").unwrap();
        let wrong = (0..LENGTH).filter(|&i| u[[i]] != value(rank, step, i));
        assert_eq!(wrong.count(), 0, "values of step {step}");
    }
}

/// Takes the turns of an agent until all agents have agreed on the last step. Checks each step that
/// is agreed, and returns all decisions.
fn follow(mut agent: OverChannels) -> Vec<Decision> {
    let start = Instant::now();
    let mut all = Vec::new();
    loop {
        assert!(start.elapsed() < DEADLINE, "{:?}", all.last());
        let now = start.elapsed();
        if let Some(decision) = agent.result(now).unwrap() {
            let agreed = agent.agreed();
            assert_eq!(agreed.map(|held| held.of), decision.agreed);
            if let Some(held) = agreed.filter(|_| decision.is_new) {
                assert_right(&held.pin, held.of.step);
            }
            let over = decision.wishes & RUNS == 0;
            all.push(decision);
            // No agent has begun another round.
            if over {
                return all;
            }
        }
        let is_last = agent.agreed().is_some_and(|held| held.of.step == LAST);
        agent.stand(if is_last { 0 } else { RUNS });
        agent.go_on(now).unwrap();
        thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn agents_in_threads_make_the_same_decisions() {
    let job = name("threads");
    let decisions: Vec<Vec<Decision>> = thread::scope(|scope| {
        let mut stays = Vec::new();
        for number in 0..NODES {
            let (stay, stays_until) = channel();
            stays.push(stay);
            let job = &job;
            scope.spawn(move || Rank::create(job, number).run(&stays_until));
        }
        let agents = (0..NODES).zip(channels(NODES as usize));
        let agents: Vec<_> = agents
            .map(|(node, end)| {
                let job = &job;
                scope.spawn(move || follow(agent(job, node, end)))
            })
            .collect();
        let ended = agents.into_iter().map(|agent| agent.join().unwrap());
        // The ranks stay until all agents have ended.
        let decisions = ended.collect();
        drop(stays);
        decisions
    });
    for other in &decisions[1..] {
        assert_eq!(*other, decisions[0]);
    }
    let new = decisions[0].iter().filter(|decision| decision.is_new);
    let steps: Vec<u64> = new
        .filter_map(|decision| Some(decision.agreed?.step))
        .collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    assert_eq!(steps.last(), Some(&LAST));
    println!("{} of {LAST} steps agreed", steps.len());
}

/// Takes the turns of all agents until they have agreed on this step.
fn agree_on(step: u64, agents: &mut [OverChannels], clock: Instant) {
    poll_until("a step is agreed", || {
        for agent in agents.iter_mut() {
            agent.turn(clock.elapsed()).unwrap();
        }
        let on_it = |agent: &OverChannels| agent.agreed().is_some_and(|held| held.of.step == step);
        agents.iter().all(on_it).then_some(())
    });
    for agent in agents {
        assert_right(&agent.agreed().unwrap().pin, step);
    }
}

/// Takes the turns of all agents until the round of each has failed.
fn fail(agents: &mut [OverChannels], clock: Instant) {
    let mut failed = vec![false; agents.len()];
    poll_until("all notice that an agent is gone", || {
        for (agent, failed) in agents.iter_mut().zip(&mut failed) {
            if let Err(error) = agent.turn(clock.elapsed()) {
                assert!(matches!(error, AgentError::Suspicion(_)), "{error}");
                *failed = true;
            }
        }
        failed.iter().all(|failed| *failed).then_some(())
    });
}

#[test]
fn agents_keep_the_agreed_step_when_one_is_gone_and_go_on_over_new_channels() {
    let job = name("threads-gone");
    let clock = Instant::now();
    let mut ranks: Vec<Rank> = (0..NODES).map(|n| Rank::create(&job, n)).collect();
    let mut publish = |steps: std::ops::RangeInclusive<u64>| {
        for step in steps {
            ranks.iter_mut().for_each(|rank| rank.publish(step));
        }
    };
    let ends = (0..NODES).zip(channels(NODES as usize));
    let mut agents: Vec<OverChannels> = ends.map(|(node, end)| agent(&job, node, end)).collect();
    publish(1..=5);
    agree_on(5, &mut agents, clock);

    drop(agents.pop());
    publish(6..=8);
    fail(&mut agents, clock);
    publish(9..=20);
    for agent in &mut agents {
        agent.turn(clock.elapsed()).unwrap();
        assert_right(&agent.agreed().unwrap().pin, 5);
    }

    let mut ends = channels(NODES as usize);
    let last = ends.pop().unwrap();
    for (agent, end) in agents.iter_mut().zip(ends) {
        agent.rejoin(end);
    }
    agents.push(agent(&job, NODES - 1, last));
    agree_on(20, &mut agents, clock);
}
