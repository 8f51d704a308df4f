-- Optional signatures of notifications.

-- secrets: the signing secrets, newest first, as JSON; null if notifications are not signed. unheard: 1 from a change of
-- the secrets until the node that leases the hook has acknowledged it.
alter table hooks add column secrets {text};
alter table hooks add column unheard {int} not null default 0;
drop index hooks_to_let_go;
create index hooks_to_hear on hooks (lease_owner) where lease_owner <> 0 and (date_ended is not null or unheard <> 0);
