-- Signatures, for those who want them.

-- secrets: what notifications of the hook are signed by, newest first, as JSON; null where they are not signed. unheard: 1
-- from a change of what its lane remembers until the node that has the lane has heard of it.
alter table hooks add column secrets {text};
alter table hooks add column unheard {int} not null default 0;
drop index hooks_to_let_go;
create index hooks_to_hear on hooks (lease_owner) where lease_owner <> 0 and (date_ended is not null or unheard <> 0);
