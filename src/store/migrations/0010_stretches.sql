-- Deliveries of a hook, by buckets of 8,192 ids: deliveries that are settled together are close together in the index,
-- whatever their hooks. In an index by hook each delivery would change another page. The expression must be identical to
-- that in src/resources/deliveries/id-buckets.ts.
drop index settled_by_hook;
create index settled_by_hook on settled (account_id, (delivery_id / 8192), hook_id);
