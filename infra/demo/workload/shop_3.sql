-- Everything goes at once
TRUNCATE TABLE order_items;

-- And comes back differently
INSERT INTO order_items (order_id, line_no, product_id, quantity, unit_price)
SELECT id, 1, id % 60 + 1, id % 7, 2.75 FROM orders WHERE id % 2 = 0;

-- A column becomes wider
ALTER TABLE order_items MODIFY COLUMN quantity bigint NOT NULL;

-- And holds what it could not hold before
UPDATE order_items SET quantity = 9000000000 + order_id WHERE order_id % 10 = 0;

-- Texts, sets, bytes and years change, some are gone
UPDATE products SET description = reverse(description), labels = 'new,sale,eco' WHERE id = 3;
UPDATE products SET description = NULL, checksum = x'00ff10', model_year = 2155 WHERE id = 6;
UPDATE products SET labels = '', weight_kg = 0.1, available_from = NULL WHERE id = 9;

-- Many updates and deletes over tables
UPDATE orders SET status = 'paid', total = total + 0.01 WHERE id BETWEEN 3101 AND 3400;
DELETE FROM order_items WHERE order_id BETWEEN 3001 AND 3050;
DELETE FROM orders WHERE id BETWEEN 3001 AND 3050;
UPDATE customers SET balance = NULL, profile = '{"theme": "dark", "n": 1.5}' WHERE id % 9 = 0;
