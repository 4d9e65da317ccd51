//! [`Shared`]: a list that many descriptions have in common.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list that is shared between clones, and copied only before one of them changes.
///
/// A program of thousands of blocks has a description for each, all with the ports and carried
/// values of the whole: copies would take memory and time that grow with the square of their number.
#[derive(Debug)]
pub struct Shared<T: Clone>(Arc<Vec<T>>);

impl<T: Clone + Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de, T: Clone + Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shared<T>, D::Error> {
        Vec::deserialize(deserializer).map(Shared::from)
    }
}

impl<T: Clone> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(self.0.clone())
    }
}

impl<T: Clone> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared::from(Vec::new())
    }
}

impl<T: Clone> From<Vec<T>> for Shared<T> {
    fn from(list: Vec<T>) -> Shared<T> {
        Shared(Arc::new(list))
    }
}

impl<T: Clone> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Shared<T> {
        Vec::from_iter(items).into()
    }
}

impl<T: Clone> Deref for Shared<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }
}

impl<'a, T: Clone> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut Shared<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// At once where both are clones of one list.
impl<T: Clone + Eq> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T: Clone + Eq> Eq for Shared<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_nobody_else() {
        let first: Shared<u32> = vec![1, 2].into();
        let mut second = first.clone();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        second.push(3);
        assert_eq!((first.as_slice(), second.as_slice()), (&[1, 2][..], &[1, 2, 3][..]));
        assert_ne!(first, second);
        let text = serde_json::to_string(&second).expect("it is a list");
        assert_eq!(text, "[1,2,3]");
        assert_eq!(serde_json::from_str::<Shared<u32>>(&text).expect("it is a list"), second);
    }
}
