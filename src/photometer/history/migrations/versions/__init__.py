"""One file per schema, in order. A released one is never changed; a test upgrades a store from each of them."""
