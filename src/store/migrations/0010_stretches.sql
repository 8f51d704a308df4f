-- Deliveries of one hook, within stretches of 8,192 ids: what is settled at one moment lies close together, however many
-- hooks it was for. By hook alone, each delivery would change a page of its own. The words are those of
-- src/resources/deliveries/id-buckets.ts.
drop index settled_by_hook;
create index settled_by_hook on settled (account_id, (delivery_id / 8192), hook_id);
