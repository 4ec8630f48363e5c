CREATE TABLE person (name TEXT NOT NULL, team TEXT NOT NULL, since TEXT NOT NULL, leads INTEGER NOT NULL);
INSERT INTO person VALUES
    ('Noa', 'search', '2019-03-01', 1),
    ('Ben', 'search', '2021-09-15', 0),
    ('Dana', 'search', '2023-01-09', 0),
    ('Omer', 'mail', '2018-06-24', 1),
    ('Lior', 'mail', '2022-11-01', 0);
