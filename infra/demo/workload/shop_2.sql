-- A customer whose key is larger than a signed integer holds
INSERT INTO customers (id, email, name, birth_date, profile)
VALUES (4000000000, 'late@example.org', 'Łukasz ''Late''', '2000-02-29', '{"a": [1, null, "ü"]}');

-- Its key changes
UPDATE customers SET id = 4000000001, tier = 'gold' WHERE id = 4000000000;

-- A part of a composite key changes for many rows
UPDATE order_items SET line_no = line_no + 10 WHERE order_id BETWEEN 20 AND 40;

-- A column with a constant default
ALTER TABLE customers ADD COLUMN country char(2) NOT NULL DEFAULT 'DE';

-- A column without
ALTER TABLE orders ADD COLUMN gift_message varchar(200) NULL;

-- Rows that fill the new columns, in one transaction
UPDATE customers SET country = 'FR' WHERE id % 20 = 0;
UPDATE orders SET gift_message = concat('Order ', id, ': “merci”'), status = 'sent'
WHERE id BETWEEN 3001 AND 3100;

-- A delete and, later, the same key again
DELETE FROM order_items WHERE order_id = 2001 AND line_no = 2;

-- The same key again
INSERT INTO order_items (order_id, line_no, product_id, quantity, unit_price, gift_note)
VALUES (2001, 2, 9, 3, 28.71, '');
