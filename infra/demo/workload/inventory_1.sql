-- An order, its lines, what they take from stock, and who ordered: one transaction, four tables
INSERT INTO orders (id, customer_id, status, ordered_at, note)
VALUES (2001, 7, 'new', '2026-04-01 10:00:00.000001+02', 'Rush: "today" ☂, ''please''');
INSERT INTO order_lines (order_id, line_number, product_id, quantity, unit_price)
VALUES (2001, 1, 3, 2, 9.57), (2001, 2, 8, 1, 25.52);
UPDATE stock SET quantity = quantity + 100 WHERE product_id IN (3, 8);
UPDATE stock SET quantity = quantity - 2 WHERE product_id = 3;
UPDATE orders
SET total = (SELECT sum(quantity * unit_price) FROM order_lines WHERE order_id = 2001)
WHERE id = 2001;
UPDATE customers SET last_seen_at = '2026-04-01 10:00:01+02' WHERE id = 7;

-- Many orders at once
INSERT INTO orders (id, customer_id, status, ordered_at, total)
SELECT 3000 + n, n % 80 + 1, 'new', TIMESTAMPTZ '2026-04-02 00:00:00+00' + n * INTERVAL '7 s', n * 1.5
FROM generate_series(1, 400) AS n;
INSERT INTO order_lines (order_id, line_number, product_id, quantity, unit_price, discount)
SELECT 3000 + n, 1, n % 60 + 1, n % 5 + 1, 1.5 * n, n / 1000.0 FROM generate_series(1, 400) AS n;

-- Several changes of one key in one transaction: the last one counts
UPDATE orders SET status = 'paid' WHERE id = 2001;
UPDATE orders SET status = 'packed', note = NULL WHERE id = 2001;
UPDATE orders SET status = 'shipped' WHERE id = 2001;

-- A row that is deleted and written again in one transaction
DELETE FROM order_lines WHERE order_id = 1 AND line_number = 1;
INSERT INTO order_lines (order_id, line_number, product_id, quantity, unit_price)
VALUES (1, 1, 60, 99, 0.01);

-- A row that lives for one transaction only
INSERT INTO locations (code, city, opens_at, lead_time) VALUES ('TMP-1', 'Nowhere', '09:00', '1 h');
DELETE FROM locations WHERE code = 'TMP-1';

-- Large values that stay as they are: their columns are not sent
UPDATE products SET price = price + 1, updated_at = '2026-04-03 08:00:00' WHERE id % 3 = 0;

-- Deletes over two tables
DELETE FROM order_lines WHERE order_id IN (5, 10, 15);
DELETE FROM orders WHERE id IN (5, 10, 15);
