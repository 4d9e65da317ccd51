//! The error with which a wait ends when its time is up.

use super::MeshSetup;
use crate::ChannelError;

impl MeshSetup<'_> {
    /// Time is up; says for whom, and why.
    pub(crate) fn too_late(&self, missing: &[usize], address: Option<&str>) -> ChannelError {
        let state = self.state();
        // Most likely one of those who are missing.
        if let Some(error) = &state.turned_away
            && missing.iter().any(|&party| party > self.me)
        {
            let mut error = error.clone();
            if let ChannelError::KeyRefused { party, .. } = &mut error {
                // Who refused it did not say who it is: none of those who came since.
                let diallers = missing.iter().filter(|&&party| party > self.me);
                let names: Vec<&str> = diallers.map(|&party| self.name(party)).collect();
                *party = names.join(" or ");
            }
            return error;
        }
        let seconds = self.settings.timeouts.connect.as_secs();
        let where_dialled = |party: usize| {
            let address = self.settings.cluster.parties()[party].address.as_ref();
            address.expect("checked before anybody is dialled").to_string()
        };
        let detail = |party: usize| {
            let unknown = state.details[self.parties()].as_ref().filter(|_| party > self.me);
            match state.details[party].as_ref().or(unknown) {
                Some(detail) if party > self.me => format!("the last connection: {detail}"),
                Some(detail) => detail.clone(),
                None if party > self.me => "no connection came".to_owned(),
                None => "no answer".to_owned(),
            }
        };
        if let [party] = missing {
            let (name, detail) = (self.name(*party).to_owned(), detail(*party));
            if *party < self.me {
                let address = where_dialled(*party);
                return ChannelError::Unreachable { party: name, address, seconds, detail };
            }
            let address = address.unwrap_or("its port").to_owned();
            return ChannelError::NobodyCame { party: name, address, seconds, detail };
        }
        let each = missing.iter().map(|&party| {
            let name = self.name(party);
            if party < self.me {
                format!(
                    "{name} could not be reached at {} ({})",
                    where_dialled(party),
                    detail(party)
                )
            } else {
                format!("{name} did not connect ({})", detail(party))
            }
        });
        ChannelError::Incomplete { seconds, missing: each.collect::<Vec<_>>().join("; ") }
    }
}
