-- E-mail addresses are compared as they are, but for the case of the letters A to Z. So far they were
-- compared with all letters folded, and 'ß' was the same as 'SS'. This is the same on both engines and
-- in every locale, which lower() is not. Who was told apart before still is: no two can get in each
-- other's way.
UPDATE users SET email_folded =
    replace(replace(replace(replace(replace(replace(replace(replace(replace(
    replace(replace(replace(replace(replace(replace(replace(replace(replace(
    replace(replace(replace(replace(replace(replace(replace(replace(email
    , 'A', 'a'), 'B', 'b'), 'C', 'c'), 'D', 'd')
    , 'E', 'e'), 'F', 'f'), 'G', 'g'), 'H', 'h')
    , 'I', 'i'), 'J', 'j'), 'K', 'k'), 'L', 'l')
    , 'M', 'm'), 'N', 'n'), 'O', 'o'), 'P', 'p')
    , 'Q', 'q'), 'R', 'r'), 'S', 's'), 'T', 't')
    , 'U', 'u'), 'V', 'v'), 'W', 'w'), 'X', 'x')
    , 'Y', 'y'), 'Z', 'z')
WHERE email IS NOT NULL;
