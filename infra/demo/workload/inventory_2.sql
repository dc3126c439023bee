-- A product with a large description
INSERT INTO products (id, sku, name, price, weight_kg, description, tags, updated_at)
SELECT 900, 'SKU-00900', 'Product 900', 12.50, 0.125, string_agg(md5('large ' || n), ' '),
       '{new,"with, comma",NULL}', '2026-04-04 00:00:00'
FROM generate_series(1, 200) AS n;

-- Its key changes; the large value is not sent again
UPDATE products SET id = 901, name = 'Product 901' WHERE id = 900;

-- A part of a composite key changes for many rows
UPDATE order_lines SET line_number = line_number + 10 WHERE order_id BETWEEN 20 AND 40;

-- A column with a constant default
ALTER TABLE customers ADD COLUMN loyalty_level smallint NOT NULL DEFAULT 3;

-- A column without
ALTER TABLE orders ADD COLUMN shipped_at timestamptz;

-- Rows that fill the new columns, in one transaction
UPDATE customers SET loyalty_level = 5 WHERE id % 20 = 0;
INSERT INTO customers (id, external_id, name, joined_on)
VALUES (1001, md5('late')::uuid, 'Zoë ''Late'' 1001', '2026-04-05');
UPDATE orders SET shipped_at = ordered_at + INTERVAL '2 days', status = 'shipped'
WHERE id BETWEEN 3001 AND 3100;

-- A delete and, later, the same key again
DELETE FROM order_lines WHERE order_id = 2001 AND line_number = 2;

-- The same key again
INSERT INTO order_lines (order_id, line_number, product_id, quantity, unit_price, discount)
VALUES (2001, 2, 9, 3, 28.71, 0.25);
