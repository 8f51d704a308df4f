-- Partitions are found by name (table and week), so they are renamed with their table.
do $$
declare
  partition text;
begin
  for partition in select inhrelid::regclass::text from pg_inherits where inhparent = 'finalized_deliveries'::regclass loop
    execute format('alter table %I rename to %I', partition, replace(partition, 'settled_', 'finalized_deliveries_'));
  end loop;
end $$;
update audit set action = case action
    when 'account.moved_in' then 'account.imported'
    when 'hook.made' then 'hook.created'
    when 'login.opened' then 'session.created'
    when 'login.refused' then 'sign_in.rejected'
    when 'login.closed' then 'session.ended'
    when 'invitation.made' then 'invitation.created'
    when 'invitation.withdrawn' then 'invitation.revoked'
    when 'calendar.made' then 'calendar.created'
    when 'denied.dead_key' then 'denied.invalid_key'
    when 'denied.others' then 'denied.other'
  end
  where action in ('account.moved_in', 'hook.made', 'login.opened', 'login.refused', 'login.closed', 'invitation.made',
    'invitation.withdrawn', 'calendar.made', 'denied.dead_key', 'denied.others');
