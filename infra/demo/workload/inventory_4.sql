-- Last changes: a key goes back to where it was, and a large value stays
DELETE FROM stock WHERE product_id = 901;
UPDATE products SET id = 900, name = 'Product 900 again' WHERE id = 901;

-- Every row of a table
UPDATE locations SET area_m2 = coalesce(area_m2, 0) + 0.1, lead_time = lead_time + INTERVAL '1 month';

-- All lines of some orders, then the orders
DELETE FROM order_lines WHERE order_id > 3350;
DELETE FROM orders WHERE id > 3350;
