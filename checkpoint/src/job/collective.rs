//! What all nodes do together, by way of node 0.

use super::messages::{Lost, Messages};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Gives node 0 the values of all nodes, in the order of nodes. The others get `None`.
pub fn gather<M, V>(messages: &mut M, own: V) -> Result<Option<Vec<V>>, Lost>
where
    M: Messages,
    V: Serialize + DeserializeOwned,
{
    if messages.node() != 0 {
        let text = serde_json::to_vec(&own).map_err(|e| unreadable(0, e))?;
        messages.send(0, text)?;
        return Ok(None);
    }
    let mut all = vec![own];
    for node in 1..messages.nodes() {
        let text = messages.receive(node)?;
        all.push(serde_json::from_slice(&text).map_err(|e| unreadable(node, e))?);
    }
    Ok(Some(all))
}

/// Gives all nodes the value of node 0. That of the others is `None`.
pub fn broadcast<M, V>(messages: &mut M, value: Option<V>) -> Result<V, Lost>
where
    M: Messages,
    V: Serialize + DeserializeOwned,
{
    let Some(value) = value else {
        let text = messages.receive(0)?;
        return serde_json::from_slice(&text).map_err(|e| unreadable(0, e));
    };
    let text = serde_json::to_vec(&value).map_err(|e| unreadable(0, e))?;
    for node in 1..messages.nodes() {
        messages.send(node, text.clone())?;
    }
    Ok(value)
}

/// Returns the values of all nodes, or which nodes have none, each with its error.
pub fn whole<T>(votes: Vec<Result<T, String>>) -> Result<Vec<T>, Vec<String>> {
    let (mut all, mut why) = (Vec::new(), Vec::new());
    for (node, vote) in votes.into_iter().enumerate() {
        match vote {
            Ok(value) => all.push(value),
            Err(error) => why.push(format!("node {node}: {error}")),
        }
    }
    if why.is_empty() { Ok(all) } else { Err(why) }
}

fn unreadable(node: usize, error: serde_json::Error) -> Lost {
    let why = format!("a message cannot be read or written: {error}");
    Lost { node, why }
}
