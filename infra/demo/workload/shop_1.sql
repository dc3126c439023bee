-- An order, its items, and who ordered: one transaction, three tables
INSERT INTO orders (id, customer_id, status, placed_at, delivery_slot, total)
VALUES (2001, 9, 'cart', '2026-04-01 10:00:00.000001', '13:30:00', 0);
INSERT INTO order_items (order_id, line_no, product_id, quantity, unit_price, gift_note)
VALUES (2001, 1, 4, 2, 9.96, NULL), (2001, 2, 8, 1, 19.92, 'Für ''dich'' 🎁');
UPDATE orders SET total = 39.84, status = 'ordered' WHERE id = 2001;
UPDATE customers SET balance = balance - 39.84, is_vip = 1 WHERE id = 9;

-- Many orders at once
INSERT INTO orders (id, customer_id, status, placed_at, total)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 400)
SELECT 3000 + n, n % 80 + 1, 'ordered', timestampadd(SECOND, n * 7, '2026-04-02 00:00:00'), n * 1.5
FROM numbers;
INSERT INTO order_items (order_id, line_no, product_id, quantity, unit_price)
SELECT id, 1, id % 60 + 1, id % 5 + 1, 1.25 FROM orders WHERE id > 3000;

-- Several changes of one key in one transaction: the last one counts
UPDATE orders SET status = 'paid' WHERE id = 2001;
UPDATE orders SET status = 'sent', shipped_on = '2026-04-02' WHERE id = 2001;
UPDATE orders SET status = 'returned', shipped_on = NULL WHERE id = 2001;

-- A row that is deleted and written again in one transaction
DELETE FROM order_items WHERE order_id = 1 AND line_no = 1;
INSERT INTO order_items (order_id, line_no, product_id, quantity, unit_price)
VALUES (1, 1, 60, 99, 0.01);

-- A row that lives for one transaction only
INSERT INTO categories (id, parent_id, name) VALUES (99, NULL, 'Nothing');
DELETE FROM categories WHERE id = 99;

-- Long texts that stay as they are
UPDATE products SET price = price + 1 WHERE id % 3 = 0;

-- Deletes over two tables
DELETE FROM order_items WHERE order_id IN (5, 10, 15);
DELETE FROM orders WHERE id IN (5, 10, 15);
