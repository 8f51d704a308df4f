import { type Kill, killAndCompare } from './kills.ts';

// The promise, before the reader's eyes: what was acknowledged is there, and what is there was told, whatever dies.

const KILLS = 20;
const WRITERS = 8;
const say = (line = '') => process.stdout.write(`${line}\n`);
const number = (value: number, width = 12) => value.toLocaleString('en').padStart(width);

say(
  `${WRITERS} clients write as fast as they can; 3 hooks are told of it. The service is killed with SIGKILL ${KILLS} times`,
);
say('and started again on the same database. Each of these kills finds something owed.');
say();
say('kill   after      acknowledged       heard   owed at the kill');

let count = 0;
function show({ afterMs, acknowledged, heard, owed }: Kill): void {
  count += 1;
  const after = `${afterMs} ms`.padStart(7);
  say(`${String(count).padStart(4)}   ${after} ${number(acknowledged, 15)} ${number(heard, 11)} ${number(owed, 18)}`);
}

const began = performance.now();
const report = await killAndCompare({ kills: KILLS, writers: WRITERS, lifeMs: [150, 500], onKill: show });
const { lost, untold, phantom, unexplained, repeated } = report;

say();
say('Three ledgers, side by side:');
say(`  acknowledged by the clients  ${number(report.acknowledged)}   records answered with 201`);
say(
  `  found in the database        ${number(report.stored)}   records; ${report.unanswered} requests were cut off by a kill, some of them after their commit`,
);
say(
  `  arrived at the receiver      ${number(report.heard)}   notifications, of ${number(report.due, 0)} that are due; ${repeated} came twice`,
);
say();
say(`  acknowledged and lost        ${number(lost.length)}`);
say(`  owed and not told            ${number(untold.length)}`);
say(`  told and not there           ${number(phantom.length)}`);
say(`  told twice without a kill    ${number(unexplained.length)}`);
say(`  hooks removed                ${number(report.hooks - report.liveHooks)}`);
for (const line of [...lost, ...untold, ...phantom, ...unexplained].slice(0, 20)) say(`    ${line}`);

const failures = lost.length + untold.length + phantom.length + unexplained.length + report.hooks - report.liveHooks;
const kept = failures === 0 && report.exitCode === 0 && report.acknowledged > 0;
say();
say(
  `${kept ? 'Nothing was lost' : 'THE PROMISE WAS BROKEN'}: ${KILLS} kills in ${Math.round((performance.now() - began) / 1_000)} s.`,
);
process.exitCode = kept ? 0 : 1;
