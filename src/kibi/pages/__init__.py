"""Reports: what is known of one planned and measured model, as one record and as one page that works without a network."""
