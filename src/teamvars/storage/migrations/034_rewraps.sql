-- expand, admits 1: a node that does not know the table has no such job, and none is begun before such
-- nodes are shut out.

-- The job that has everything under the keys in use, while there is one: whoever holds it until then,
-- for which generation, behind which row of which table it goes on, and how many rows it has sealed.
CREATE TABLE rewraps (
    id {text} PRIMARY KEY CHECK (id = 'rewrap'),
    holder {text} NOT NULL,
    held_until BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    part BIGINT NOT NULL,
    after {text} NOT NULL,
    done BIGINT NOT NULL
);
