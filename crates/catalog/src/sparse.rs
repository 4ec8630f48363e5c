//! A part of a tool that most tools do not have.

use std::ops::{Deref, DerefMut};

use serde::{Serialize, Serializer};

/// A value that takes the space of a pointer as long as it is the default. Reading it gives the
/// default; the first change allocates it.
///
/// A catalog holds tens of thousands of tools, and few of them declare any [`crate::Routing`] or
/// [`crate::Facets`], which take 300 and 80 bytes.
#[derive(Clone, Debug, Default)]
pub struct Sparse<T>(Option<Box<T>>);

/// A type whose default value can be borrowed for the whole run.
pub trait StaticDefault: Default + 'static {
    /// Returns the default value.
    fn static_default() -> &'static Self;
}

macro_rules! static_default {
    ($type:ty) => {
        impl $crate::sparse::StaticDefault for $type {
            fn static_default() -> &'static Self {
                static DEFAULT: std::sync::LazyLock<$type> =
                    std::sync::LazyLock::new(Default::default);
                &DEFAULT
            }
        }
    };
}
pub(crate) use static_default;

impl<T: StaticDefault + PartialEq> Sparse<T> {
    /// Whether the value is the default.
    pub fn is_default(&self) -> bool {
        **self == *T::static_default()
    }

    /// Frees the space of a value that is the default again.
    pub(crate) fn compact(&mut self) {
        if self.is_default() {
            self.0 = None;
        }
    }
}

impl<T: StaticDefault> Deref for Sparse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::static_default())
    }
}

impl<T: StaticDefault> DerefMut for Sparse<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: StaticDefault + PartialEq> From<T> for Sparse<T> {
    fn from(value: T) -> Self {
        let mut sparse = Self(Some(Box::new(value)));
        sparse.compact();
        sparse
    }
}

impl<T: StaticDefault + PartialEq> PartialEq for Sparse<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: StaticDefault + Serialize> Serialize for Sparse<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}
