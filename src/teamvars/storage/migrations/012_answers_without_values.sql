-- expand, admits 1: no node of 0.1.0 keeps answers.

-- Answers that were kept until now may show a value, which could be made sensitive before they
-- expire. None that short shows a variable: records of tokens that were made stay, for nothing else
-- keeps a token from being made twice.
DELETE FROM idempotency_records WHERE bytes > 256;
