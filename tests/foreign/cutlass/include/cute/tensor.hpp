/* where CUTLASS is, for tests that compile with a stand-in */
