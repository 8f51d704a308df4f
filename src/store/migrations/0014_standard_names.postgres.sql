-- A partition is found by the name of its table and week.
do $$
declare
  partition text;
begin
  for partition in select inhrelid::regclass::text from pg_inherits where inhparent = 'finalized_deliveries'::regclass loop
    execute format('alter table %I rename to %I', partition, replace(partition, 'settled_', 'finalized_deliveries_'));
  end loop;
end $$;
