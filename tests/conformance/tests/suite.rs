//! The suite for every organization in the catalog.

catalog::for_each_organization!(anabranch_conformance::suite);
