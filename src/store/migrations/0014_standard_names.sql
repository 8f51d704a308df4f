-- Renames tables, columns and audit actions to standard terms. Indexes keep their names: SQLite cannot rename them, and
-- rebuilding those of the history tables would take minutes.
alter table owed rename to pending_deliveries;
alter table pending_deliveries rename column owed_at to created_at;
alter table settled rename to finalized_deliveries;
alter table finalized_deliveries rename column owed_at to created_at;
alter table finalized_deliveries rename column settled_at to finalized_at;
alter table asks rename to manual_attempts;
alter table manual_attempts rename column ask_id to manual_attempt_id;
alter table fetches rename to read_receipts;
alter table read_receipts rename column noun to resource_type;
alter table notices rename to hook_alerts;
alter table hook_alerts rename column notice_id to hook_alert_id;
alter table assignments rename column noun to resource_type;
alter table team_assignments rename column noun to resource_type;
alter table hooks rename column unheard to unacknowledged;
alter table nodes rename column beat to heartbeat;
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
