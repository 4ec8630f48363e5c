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

/// Lets a [`Sparse`] value of a type be read.
macro_rules! readable_when_sparse {
    ($type:ty) => {
        impl std::ops::Deref for $crate::Sparse<$type> {
            type Target = $type;

            fn deref(&self) -> &$type {
                static DEFAULT: std::sync::LazyLock<$type> =
                    std::sync::LazyLock::new(Default::default);
                self.stored().unwrap_or(&DEFAULT)
            }
        }
    };
}
pub(crate) use readable_when_sparse;

impl<T> Sparse<T> {
    pub(crate) fn stored(&self) -> Option<&T> {
        self.0.as_deref()
    }
}

impl<T: Default + PartialEq> Sparse<T> {
    /// Whether it has the default value, which takes no memory.
    pub fn is_default(&self) -> bool {
        self.stored().is_none_or(|value| *value == T::default())
    }

    /// Frees the space of a value that is the default again.
    pub(crate) fn compact(&mut self) {
        if self.is_default() {
            self.0 = None;
        }
    }
}

impl<T: Default> DerefMut for Sparse<T>
where
    Self: Deref<Target = T>,
{
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: Default + PartialEq> From<T> for Sparse<T> {
    fn from(value: T) -> Self {
        let mut sparse = Self(Some(Box::new(value)));
        sparse.compact();
        sparse
    }
}

impl<T: PartialEq> PartialEq for Sparse<T>
where
    Self: Deref<Target = T>,
{
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Serialize> Serialize for Sparse<T>
where
    Self: Deref<Target = T>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}
