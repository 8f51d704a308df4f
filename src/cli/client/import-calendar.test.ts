import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCarillon as command, runCarillonJson } from '../../../test/kit/service/command.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';

sqlite.test(
  'X9 carillon import-calendar brings a file in, says what it left out, and says in a line what is wrong',
  async (t) => {
    const carillon = await sqlite.testService(t);
    const { domain, key, carillon: own } = await carillon.createAccount('acme.test');
    const { project_id } = await own.projects.create({ project_name: 'Bells' });
    const folder = createTemporaryFolder(t);
    const environment = {
      CARILLON_DOMAIN: domain,
      CARILLON_KEY: key,
      CARILLON_SERVICE: carillon.baseUrl,
      HOME: folder,
    };
    const file = (name: string, content: string | Uint8Array) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const lines = ['BEGIN:VCALENDAR', 'BEGIN:VEVENT', 'UID:1', 'DTSTART:20270131T090000Z', 'SUMMARY:Cast \u001b[31m'];
    const good = file('good.ics', [...lines, 'LOCATION:Hall', 'END:VEVENT', 'END:VCALENDAR'].join('\r\n'));
    const first = await command(['import-calendar', good, '--project-id', project_id, '--time-zone', 'Europe/Zurich'], {
      environment,
    });
    assert.deepEqual([first.code, first.stderrLines], [0, []]);
    assert.match(
      first.stdout,
      /^created: 1, changed: 0, unchanged: 0, .*\ntimes with a zone are in Europe\/Zurich; .*\n1 LOCATION: Events have no field/,
    );
    assert.ok(!first.stdout.includes('\u001b'), 'a terminal is told no commands');
    const [event] = (await own.events.list()).data;
    assert.deepEqual([event?.start_date, event?.project_id], ['2027-01-31 10:00:00', project_id]);
    const again = await runCarillonJson(['import-calendar', good, '--time-zone', 'Europe/Zurich', '--silent'], {
      environment,
    });
    assert.deepEqual([again.created, again.unchanged], ['0', '1']);
    const wrong: [string, RegExp][] = [
      [join(folder, 'nowhere.ics'), /nowhere\.ics cannot be read/],
      [file('latin1.ics', Buffer.from('BEGIN:VCALENDAR\nX-A:\xe4\nEND:VCALENDAR', 'latin1')), /is not in UTF-8/],
      [file('half.ics', 'BEGIN:VCALENDAR\nBEGIN:VEVENT\n'), /--ics is not a calendar: line 2 begins VEVENT/],
    ];
    for (const [path, fault] of wrong) {
      const { code, stderrLines } = await command(['import-calendar', path], { environment });
      assert.deepEqual([code, stderrLines.length], [1, 1]);
      assert.match(String(stderrLines[0]), fault);
    }
  },
);
