-- Partitions are found by name (table and week), so they are renamed with their table.
do $$
declare
  partition text;
begin
  for partition in select inhrelid::regclass::text from pg_inherits where inhparent = 'finalized_deliveries'::regclass loop
    execute format('alter table %I rename to %I', partition, replace(partition, 'settled_', 'finalized_deliveries_'));
  end loop;
end $$;
