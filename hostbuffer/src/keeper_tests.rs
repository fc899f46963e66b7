//! A process that has the buffer, and sends what no correct process sends.

use crate::layout::{Layout, Section};
use crate::link::Link;
use crate::wire::{Hello, Lost, PROTOCOL, ToLeader, ToMember};
use crate::{HostBuffer, claim};
use std::time::{Duration, Instant};

fn receive(from: &Link) -> Result<ToMember, Lost> {
    let until = Instant::now() + Duration::from_secs(60);
    from.receive_with(until).map(|(message, _)| message)
}

#[test]
fn wish_to_seal_what_has_no_memory_is_refused_and_harms_nobody() {
    let job = format!("keeper-{}", std::process::id());
    let sections = vec![Section::new("memory", 1), Section::regions("ranks", 2, 1)];
    let builder = HostBuffer::builder(&job);
    let builder = builder.section(sections[0].clone());
    let buffer = builder.section(sections[1].clone()).create_or_attach();
    let buffer = buffer.unwrap();
    for section in [1, 2, usize::MAX] {
        let liar = claim::connect(&job).unwrap().unwrap();
        let hello = Hello {
            protocol: PROTOCOL,
            layout: Layout::new(sections.clone()).unwrap(),
            member: true,
        };
        liar.send(&ToLeader::Hello(hello), &[]).unwrap();
        assert!(matches!(receive(&liar), Ok(ToMember::Go)));
        liar.send(&ToLeader::Seal { section }, &[]).unwrap();
        match (section, receive(&liar)) {
            (1, Ok(ToMember::NotSealed { section: 1, why })) => {
                assert!(why.contains("for regions"), "{why}");
            }
            (2.., Err(Lost::Gone)) => {}
            other => panic!("{other:?}"),
        }
    }
    buffer.seal("memory").unwrap();
}
