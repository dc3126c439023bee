-- Last changes: a key goes back to where it was
UPDATE customers SET id = 4000000000, name = 'Łukasz again' WHERE id = 4000000001;

-- Every row of a table
UPDATE categories SET name = concat(name, '!');

-- All items of some orders, then the orders
DELETE FROM order_items WHERE order_id > 3350;
DELETE FROM orders WHERE id > 3350;
