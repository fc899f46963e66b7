//! The table of bars, with columns for each user as whom they were measured.

use super::bar::Bar;
use tcasm_compare::user::User;

/// A bar, with the value that was measured as each user.
struct Row<'a> {
    what: &'a str,
    values: Vec<Option<&'a Bar>>,
}

/// Returns the heading of the table for these users.
pub fn head(users: &[User]) -> String {
    let columns = |user: &User| format!(" {} (median) | p99 | max |", user.title());
    let columns: String = users.iter().map(columns).collect();
    let rule = "|---".repeat(3 + 3 * users.len());
    format!("| what |{columns} at most | |\n{rule}|")
}

/// Returns the lines of the table for bars that were measured as these users. Bars of the same name
/// share a line. If there are several, their order counts.
pub fn lines(measured: &[(User, Vec<Bar>)]) -> Vec<String> {
    let users: Vec<User> = measured.iter().map(|(user, _)| *user).collect();
    let rows = rows(measured);
    rows.iter().map(|row| row.line(&users)).collect()
}

fn rows(measured: &[(User, Vec<Bar>)]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (column, (_, bars)) in measured.iter().enumerate() {
        for bar in bars {
            let free = |row: &&mut Row<'_>| row.what == bar.what && row.values[column].is_none();
            if let Some(row) = rows.iter_mut().find(free) {
                row.values[column] = Some(bar);
                continue;
            }
            let mut values = vec![None; measured.len()];
            values[column] = Some(bar);
            let what = &bar.what;
            rows.push(Row { what, values });
        }
    }
    rows
}

impl<'a> Row<'a> {
    fn line(&self, users: &[User]) -> String {
        let mut cells = vec![self.what.to_owned()];
        for value in &self.values {
            cells.extend(value.map_or_else(Default::default, Bar::cells));
        }
        let most = self.bars().next().map_or(String::new(), Bar::most);
        cells.extend([most, self.verdict(users)]);
        format!("| {} |", cells.join(" | "))
    }

    fn bars(&self) -> impl Iterator<Item = &'a Bar> {
        self.values.iter().copied().flatten()
    }

    /// Says who missed the limit, if only some users did.
    fn verdict(&self, users: &[User]) -> String {
        let missed = |value: &Option<&Bar>| value.is_some_and(|bar| !bar.met());
        let by = users.iter().zip(&self.values);
        let by: Vec<_> = by.filter(|(_, value)| missed(value)).collect();
        if by.is_empty() || by.len() == self.bars().count() {
            let mut verdicts = self.bars().map(Bar::verdict);
            return verdicts.next().unwrap_or_default().to_owned();
        }
        let by: Vec<_> = by.iter().map(|(user, _)| user.title()).collect();
        format!("**missed** by {}", by.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::bar::Unit;
    use super::*;

    const BOTH: [User; 2] = [User::Root, User::Ordinary];

    fn bar(what: &str, seen: f64) -> Bar {
        Bar::new(what, seen, 2.0, Unit::Count)
    }

    #[test]
    fn heading_has_a_column_for_each_cell_of_a_line() {
        for users in [&BOTH[..], &BOTH[1..]] {
            let measured = users.iter().map(|user| (*user, vec![bar("x", 1.0)]));
            let line = lines(&measured.collect::<Vec<_>>()).remove(0);
            let bars = |text: &str| text.matches('|').count();
            for heading in head(users).lines() {
                assert_eq!(bars(heading), bars(&line), "{heading} {line}");
            }
        }
        assert!(head(&BOTH).contains("| root (median) |"));
        assert!(head(&BOTH).contains("| ordinary user (median) |"));
    }

    #[test]
    fn bars_of_the_same_name_share_a_line_in_their_order() {
        let of_root = vec![bar("x", 1.0), bar("of root", 1.0), bar("x", 3.0)];
        let ordinary = vec![bar("x", 5.0), bar("x", 2.0), bar("other", 1.0)];
        let lines = lines(&[(User::Root, of_root), (User::Ordinary, ordinary)]);
        let expected = [
            "| x | 1 |  |  | 5 |  |  | 2 | **missed** by ordinary user |",
            "| of root | 1 |  |  |  |  |  | 2 | met |",
            "| x | 3 |  |  | 2 |  |  | 2 | **missed** by root |",
            "| other |  |  |  | 1 |  |  | 2 | met |",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn limit_that_all_users_miss_is_missed() {
        let measured = BOTH.map(|user| (user, vec![bar("x", 3.0)]));
        let expected = "| x | 3 |  |  | 3 |  |  | 2 | **missed** |";
        assert_eq!(lines(&measured), [expected]);
        assert_eq!(lines(&measured[1..]), ["| x | 3 |  |  | 2 | **missed** |"]);
    }
}
