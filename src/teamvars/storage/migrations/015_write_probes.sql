-- expand, admits 1: releases that do not know the table do without.

-- What a node writes, over and over in one row, to learn whether writes work again.
CREATE TABLE write_probes (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    filler {bytes} NOT NULL
);
