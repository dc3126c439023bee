-- Everything goes at once
TRUNCATE TABLE stock;

-- And comes back differently
INSERT INTO stock (product_id, location_code, quantity, counted_at)
SELECT p.id, l.code, (p.id * 11 + length(l.code)) % 70, TIMESTAMP '2026-04-06 18:00:00.5'
FROM products AS p CROSS JOIN locations AS l WHERE (p.id + length(l.city)) % 2 = 0;

-- A column becomes wider
ALTER TABLE stock ALTER COLUMN quantity TYPE bigint;

-- And holds what it could not hold before
UPDATE stock SET quantity = 9000000000 + product_id WHERE product_id % 10 = 0;

-- A large value changes, one becomes small, one is gone
UPDATE products SET description = reverse(description) WHERE id = 3;
UPDATE products SET description = 'short now' WHERE id = 6;
UPDATE products SET description = NULL WHERE id = 9;

-- Many updates and deletes over tables
UPDATE orders SET status = 'paid', total = total + 0.01 WHERE id BETWEEN 3101 AND 3400;
DELETE FROM order_lines WHERE order_id BETWEEN 3001 AND 3050;
DELETE FROM orders WHERE id BETWEEN 3001 AND 3050;
UPDATE customers SET credit_limit = NULL, preferences = '{"language": "日本語", "nested": [1, {"a": null}]}'
WHERE id % 9 = 0;
