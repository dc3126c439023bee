"""Pure decisions: values in, frozen plans out; no Spark, no catalog, no clock."""
