-- The source `shop` (MySQL): a web shop.
-- Deterministic: no clock, no random numbers. No cascades: the binlog does not hold their rows.

CREATE TABLE customers (
    id           int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    email        varchar(190) NOT NULL UNIQUE,
    name         varchar(120) NOT NULL,
    birth_date   date NULL,
    is_vip       tinyint(1) NOT NULL DEFAULT 0,
    balance      decimal(14, 4) NULL DEFAULT 0.0000,
    tier         enum('basic', 'silver', 'gold') NOT NULL DEFAULT 'basic',
    profile      json NULL,
    created_at   timestamp(6) NOT NULL DEFAULT '2026-01-01 00:00:00'
);

CREATE TABLE categories (
    id         smallint unsigned NOT NULL PRIMARY KEY,
    parent_id  smallint unsigned NULL,
    name       varchar(80) NOT NULL,
    CONSTRAINT categories_parent FOREIGN KEY (parent_id) REFERENCES categories (id)
);

CREATE TABLE products (
    id              bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    category_id     smallint unsigned NOT NULL,
    sku             char(12) NOT NULL UNIQUE,
    title           varchar(200) NOT NULL,
    description     mediumtext NULL,
    price           decimal(10, 2) NOT NULL,
    weight_kg       double NULL,
    labels          set('new', 'sale', 'eco') NOT NULL DEFAULT '',
    checksum        varbinary(32) NULL,
    available_from  datetime(3) NULL,
    model_year      year NULL,
    CONSTRAINT products_category FOREIGN KEY (category_id) REFERENCES categories (id)
);

CREATE TABLE orders (
    id             bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id    int unsigned NOT NULL,
    status         enum('cart', 'ordered', 'paid', 'sent', 'returned') NOT NULL DEFAULT 'cart',
    placed_at      datetime(6) NOT NULL,
    shipped_on     date NULL,
    delivery_slot  time NULL,
    total          decimal(12, 2) NOT NULL DEFAULT 0.00,
    CONSTRAINT orders_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
);

CREATE TABLE order_items (
    order_id    bigint unsigned NOT NULL,
    line_no     smallint unsigned NOT NULL,
    product_id  bigint unsigned NOT NULL,
    quantity    int NOT NULL,
    unit_price  decimal(10, 2) NOT NULL,
    gift_note   text NULL,
    PRIMARY KEY (order_id, line_no),
    CONSTRAINT order_items_order FOREIGN KEY (order_id) REFERENCES orders (id),
    CONSTRAINT order_items_product FOREIGN KEY (product_id) REFERENCES products (id)
);

-- https://debezium.io/documentation/reference/stable/configuration/signalling.html
CREATE TABLE debezium_signal (
    id    varchar(64) NOT NULL PRIMARY KEY,
    type  varchar(32) NOT NULL,
    data  varchar(2048) NULL
);

INSERT INTO customers (id, email, name, birth_date, is_vip, balance, tier, profile, created_at)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 80)
SELECT n,
       concat('shopper', n, '@example.org'),
       concat(elt(n % 5 + 1, 'Ana', 'Bo', 'Çelik', 'Đorđe', '大輔'), ' ', n),
       if(n % 6 = 0, NULL, date_add('1950-01-01', INTERVAL n * 251 DAY)),
       n % 10 = 0,
       if(n % 7 = 0, NULL, n * 12.3456),
       elt(n % 3 + 1, 'basic', 'silver', 'gold'),
       if(n % 4 = 0, NULL, json_object('theme', 'dark', 'logins', n, 'nested', json_array(1, n))),
       timestampadd(MICROSECOND, n * 3600000001, '2026-01-05 10:00:00')
FROM numbers;

INSERT INTO categories (id, parent_id, name)
VALUES (1, NULL, 'All'), (2, 1, 'Kitchen'), (3, 1, 'Garden'), (4, 2, 'Knives'), (5, 3, 'Seeds');

INSERT INTO products (id, category_id, sku, title, description, price, weight_kg, labels,
                      checksum, available_from, model_year)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60)
SELECT n,
       n % 4 + 2,
       concat('P-', lpad(n, 10, '0')),
       concat('Article ', n, ' “deluxe”'),
       if(n % 5 = 0, NULL, repeat(concat('Long text of article ', n, '. '), n % 40 + 1)),
       n * 2.49,
       if(n % 6 = 0, NULL, n / 7),
       elt(n % 4 + 1, '', 'new', 'new,eco', 'sale'),
       if(n % 3 = 0, unhex(md5(n)), NULL),
       if(n % 8 = 0, NULL, timestampadd(MICROSECOND, n * 1001000, '2026-02-01 00:00:00')),
       if(n % 9 = 0, NULL, 2000 + n % 26)
FROM numbers;

INSERT INTO orders (id, customer_id, status, placed_at, shipped_on, delivery_slot)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 120)
SELECT n,
       n % 80 + 1,
       elt(n % 5 + 1, 'cart', 'ordered', 'paid', 'sent', 'returned'),
       timestampadd(MICROSECOND, n * 123456789, '2026-03-01 09:30:00'),
       if(n % 5 < 3, NULL, date_add('2026-03-02', INTERVAL n DAY)),
       if(n % 4 = 0, NULL, sec_to_time(n * 600 % 86400))
FROM numbers;

INSERT INTO order_items (order_id, line_no, product_id, quantity, unit_price, gift_note)
WITH RECURSIVE lines_of (line) AS (SELECT 1 UNION ALL SELECT line + 1 FROM lines_of WHERE line < 3)
SELECT o.id,
       line,
       (o.id * 11 + line * 5) % 60 + 1,
       line,
       ((o.id * 11 + line * 5) % 60 + 1) * 2.49,
       if(line = 3, concat('For you 🎁 ', o.id), NULL)
FROM orders AS o
CROSS JOIN lines_of
WHERE line <= o.id % 3 + 1;

UPDATE orders
SET total = (SELECT sum(quantity * unit_price) FROM order_items WHERE order_id = orders.id);
