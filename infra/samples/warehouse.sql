-- The source `warehouse` (MariaDB): bins, articles and what moves between them.
-- Deterministic: no clock, no random numbers. No UUID, INET6 or SEQUENCE: the connector's
-- parser of MariaDB's DDL stops at them.

CREATE TABLE sites (
    id         int NOT NULL PRIMARY KEY,
    code       char(6) NOT NULL UNIQUE,
    city       varchar(100) NOT NULL,
    opened_on  date NULL,
    latitude   decimal(9, 6) NULL,
    longitude  decimal(9, 6) NULL
);

CREATE TABLE bins (
    site_id   int NOT NULL,
    bin_code  varchar(10) NOT NULL,
    capacity  smallint unsigned NOT NULL,
    is_cold   boolean NOT NULL DEFAULT false,
    PRIMARY KEY (site_id, bin_code),
    CONSTRAINT bins_site FOREIGN KEY (site_id) REFERENCES sites (id)
);

CREATE TABLE articles (
    id          bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    uid         char(36) NOT NULL UNIQUE,
    name        varchar(150) NOT NULL,
    unit_price  decimal(10, 3) NOT NULL,
    weight_g    float NULL,
    attributes  json NULL,
    manual      longtext NULL,
    barcode     varbinary(16) NULL
);

CREATE TABLE stock (
    site_id     int NOT NULL,
    bin_code    varchar(10) NOT NULL,
    article_id  bigint unsigned NOT NULL,
    quantity    decimal(12, 3) NOT NULL DEFAULT 0.000,
    counted_at  timestamp NULL,
    PRIMARY KEY (site_id, bin_code, article_id),
    CONSTRAINT stock_bin FOREIGN KEY (site_id, bin_code) REFERENCES bins (site_id, bin_code),
    CONSTRAINT stock_article FOREIGN KEY (article_id) REFERENCES articles (id)
);

CREATE TABLE movements (
    id          bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    article_id  bigint unsigned NOT NULL,
    site_id     int NOT NULL,
    bin_code    varchar(10) NOT NULL,
    quantity    int NOT NULL,
    reason      enum('receipt', 'pick', 'count', 'loss') NOT NULL,
    moved_at    datetime(6) NOT NULL,
    took        time(3) NULL,
    remark      text NULL,
    CONSTRAINT movements_bin FOREIGN KEY (site_id, bin_code) REFERENCES bins (site_id, bin_code),
    CONSTRAINT movements_article FOREIGN KEY (article_id) REFERENCES articles (id)
);

-- https://debezium.io/documentation/reference/stable/configuration/signalling.html
CREATE TABLE debezium_signal (
    id    varchar(64) NOT NULL PRIMARY KEY,
    type  varchar(32) NOT NULL,
    data  varchar(2048) NULL
);

INSERT INTO sites (id, code, city, opened_on, latitude, longitude)
VALUES (1, 'AMS-01', 'Amsterdam', '2001-05-17', 52.372760, 4.893604),
       (2, 'POR-01', 'Porto', NULL, 41.149451, -8.610788),
       (3, 'SEO-01', '서울', '2020-02-29', NULL, NULL);

INSERT INTO bins (site_id, bin_code, capacity, is_cold)
SELECT s.id, concat(char(64 + r.seq), '-', lpad(c.seq, 2, '0')), 40000 + r.seq * c.seq, r.seq = 4
FROM sites AS s, seq_1_to_4 AS r, seq_1_to_5 AS c;

INSERT INTO articles (id, uid, name, unit_price, weight_g, attributes, manual, barcode)
SELECT seq,
       insert(insert(insert(insert(md5(seq), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-'),
       concat('Article ', seq, ' ½'),
       seq * 1.125,
       if(seq % 5 = 0, NULL, seq * 10.5),
       if(seq % 3 = 0, NULL, json_object('hazard', seq % 4 = 0, 'stack', seq % 6)),
       if(seq % 4 = 0, repeat(concat('Step ', seq, '. '), 300), NULL),
       if(seq % 2 = 0, unhex(md5(concat('barcode', seq))), NULL)
FROM seq_1_to_60;

INSERT INTO stock (site_id, bin_code, article_id, quantity, counted_at)
SELECT b.site_id,
       b.bin_code,
       a.id,
       (a.id * 17 + b.site_id) % 300 + 0.125,
       if(a.id % 4 = 0, NULL, timestampadd(MINUTE, a.id * 7, '2026-02-03 04:05:06'))
FROM bins AS b
JOIN articles AS a ON a.id % 20 = (b.capacity + b.site_id) % 20;

INSERT INTO movements (id, article_id, site_id, bin_code, quantity, reason, moved_at, took, remark)
SELECT seq,
       seq % 60 + 1,
       seq % 3 + 1,
       concat(char(65 + seq % 4), '-', lpad(seq % 5 + 1, 2, '0')),
       cast(seq % 40 AS signed) - 20,
       elt(seq % 4 + 1, 'receipt', 'pick', 'count', 'loss'),
       timestampadd(MICROSECOND, seq * 60000001, '2026-03-01 00:00:00'),
       if(seq % 6 = 0, NULL, sec_to_time(seq * 0.25)),
       if(seq % 9 = 0, concat('Checked; ', seq), NULL)
FROM seq_1_to_200;
