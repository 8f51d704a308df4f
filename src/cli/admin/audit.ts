import type { Command } from 'commander';
import { auditActions, isAuditAction, listAuditEntries } from '../../audit/actions.ts';
import { systemClock } from '../../clock.ts';
import { parseDuration } from '../../durations.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import { findAccountId } from '../../resources/accounts/actions.ts';
import { CliError } from '../output/screen.ts';
import { addDatabaseOptions, type DatabaseFlags, printResult, withStore } from './open-database.ts';

type AuditFlags = DatabaseFlags & { readonly domain?: string; readonly since?: string; readonly action?: string };

/** Registers the command `carillon audit`. */
export function addAuditCommand(program: Command): void {
  addDatabaseOptions(program.command('audit'))
    .description('List the audit log, oldest first: keys, users, hooks, denied requests, restores.')
    .option('--domain <host>', 'Only this account. Default: all accounts, and entries without an account.')
    .option('--since <duration>', 'Only this recent: 7d, 12h, 30m. Default: all.')
    .option('--action <action>', `Only this action: one of ${Object.keys(auditActions).join(', ')}.`)
    .action(async (flags: AuditFlags) => {
      const happenedSince = readSinceTimestamp(flags.since);
      const action = readAuditAction(flags.action);
      const rows = await withStore(flags, async ({ read }) => {
        const accountId = flags.domain === undefined ? undefined : await findAccountId(read, flags.domain);
        if (flags.domain !== undefined && accountId === undefined)
          throw new CliError([`There is no account with the domain ${flags.domain}.`]);
        return listAuditEntries(read, { accountId, action, happenedSince });
      });
      const listedEntries = rows.map((row) => ({
        id: String(row.audit_id),
        date: formatTimestamp(row.happened_at),
        domain: row.domain ?? '',
        action: row.action,
        subject: row.subject,
        user_id: String(row.user_id),
        email: row.email ?? '',
        key_id: String(row.key_id),
        source: row.source,
        detail: JSON.parse(row.detail),
      }));
      const lines = listedEntries.map((entry) => [
        entry.date,
        entry.domain,
        entry.action,
        entry.subject,
        entry.email,
        entry.source,
        JSON.stringify(entry.detail),
      ]);
      printResult(flags, listedEntries, lines);
    });
}

function readSinceTimestamp(text: string | undefined): number {
  if (text === undefined) return 0;
  const durationMs = parseDuration(text);
  if (durationMs === undefined)
    throw new CliError([`--since must be a duration such as 7d or 12h; ${text} is not one.`]);
  return systemClock.now() - durationMs;
}

function readAuditAction(text: string | undefined) {
  if (text === undefined || isAuditAction(text)) return text;
  throw new CliError([`--action must be one of ${Object.keys(auditActions).join(', ')}; ${text} is not one.`]);
}
