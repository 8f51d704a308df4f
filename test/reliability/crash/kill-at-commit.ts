import { DatabaseSync } from 'node:sqlite';

// This module is preloaded into a service, which then kills itself at its k-th commit, counted from its start: right
// before the commit, or right after it and before any client is answered. `DIES` is `before 7` or `after 7`.
const [killTiming, commitNumber] = (process.env.DIES ?? '').split(' ');
let commits = 0;

function killAroundCommit<T>(commit: () => T): T {
  commits += 1;
  const isTarget = commits === Number(commitNumber);
  if (isTarget && killTiming === 'before') process.kill(process.pid, 'SIGKILL');
  const done = commit();
  if (isTarget) process.kill(process.pid, 'SIGKILL');
  return done;
}

const { exec, prepare } = DatabaseSync.prototype;

DatabaseSync.prototype.exec = function (sql) {
  return /\bcommit\s*$/.test(sql) ? killAroundCommit(() => exec.call(this, sql)) : exec.call(this, sql);
};

DatabaseSync.prototype.prepare = function (sql, ...options) {
  const statement = prepare.call(this, sql, ...options);
  if (sql !== 'commit') return statement;
  const run = statement.run.bind(statement);
  statement.run = () => killAroundCommit(() => run());
  return statement;
};
