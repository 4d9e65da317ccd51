//! [`CowList`]: a list that many descriptions have in common.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list that is shared between clones, and copied only before one of them changes.
///
/// A program of thousands of blocks has a description for each, all with the ports and carried
/// values of the whole: copies would take memory and time that grow with the square of their number.
#[derive(Debug)]
pub struct CowList<T: Clone>(Arc<Vec<T>>);

impl<T: Clone + Serialize> Serialize for CowList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de, T: Clone + Deserialize<'de>> Deserialize<'de> for CowList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CowList<T>, D::Error> {
        Vec::deserialize(deserializer).map(CowList::from)
    }
}

impl<T: Clone> Clone for CowList<T> {
    fn clone(&self) -> CowList<T> {
        CowList(self.0.clone())
    }
}

impl<T: Clone> Default for CowList<T> {
    fn default() -> CowList<T> {
        CowList::from(Vec::new())
    }
}

impl<T: Clone> From<Vec<T>> for CowList<T> {
    fn from(list: Vec<T>) -> CowList<T> {
        CowList(Arc::new(list))
    }
}

impl<T: Clone> FromIterator<T> for CowList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> CowList<T> {
        Vec::from_iter(items).into()
    }
}

impl<T: Clone> Deref for CowList<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Clone> DerefMut for CowList<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }
}

impl<'a, T: Clone> IntoIterator for &'a CowList<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut CowList<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// At once where both are clones of one list.
impl<T: Clone + Eq> PartialEq for CowList<T> {
    fn eq(&self, other: &CowList<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T: Clone + Eq> Eq for CowList<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_nobody_else() {
        let first: CowList<u32> = vec![1, 2].into();
        let mut second = first.clone();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        second.push(3);
        assert_eq!((first.as_slice(), second.as_slice()), (&[1, 2][..], &[1, 2, 3][..]));
        assert_ne!(first, second);
        let text = serde_json::to_string(&second).expect("it is a list");
        assert_eq!(text, "[1,2,3]");
        assert_eq!(serde_json::from_str::<CowList<u32>>(&text).expect("it is a list"), second);
    }
}
