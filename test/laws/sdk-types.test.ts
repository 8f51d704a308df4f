import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Route } from '../../src/http/routes/route.ts';
import { consoleRows, publicRows } from '../kit/api/routes.ts';
import { asksOf, PRELUDE, type Promised, promisesOf, sdkCalls } from '../kit/api/sdk-calls.ts';
import { type Json, temporaryFolder } from '../kit/service/service.ts';
import { tsc } from '../toolbox.ts';
import { root } from './source.ts';

const rows = [...publicRows, ...consoleRows];

/** Descriptions of the type assertions that do not compile; each list is a file of one program. */
function broken(folder: string, ...lists: readonly (readonly Promised[])[]): string[][] {
  const head = `import type { CarillonConsole } from '${join(root, 'packages/sdk/src/console.ts')}';${PRELUDE}`;
  const first = head.split('\n').length;
  for (const [index, promises] of lists.entries()) {
    const lines = promises.map(({ type }, at) => `const p${at}: ${type} = true;`);
    writeFileSync(join(folder, `p${index}.ts`), `${head}${lines.join('\n')}\n`);
  }
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { noUnusedLocals: false, rewriteRelativeImportExtensions: false },
    include: [],
    files: lists.map((_, index) => `p${index}.ts`),
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  const { stdout } = spawnSync(tsc, ['-p', folder, '--pretty', 'false'], { encoding: 'utf8', cwd: folder });
  const faults = [...stdout.matchAll(/^(.*)\((\d+),\d+\): error/gm)].map(([, path = '', line]) => ({
    path,
    line: Number(line),
  }));
  assert.deepEqual(
    faults.filter(({ path }) => !/^p\d+\.ts$/.test(path)),
    [],
    'the SDK itself is well typed',
  );
  return lists.map((promises, index) => {
    const lines = faults.filter(({ path }) => path === `p${index}.ts`).map(({ line }) => line);
    return promises.filter((_, at) => lines.includes(first + at)).map(({ says }) => says);
  });
}

/** The route definitions with the schemas of one of them changed. */
function changed(asks: string, change: (row: Json) => void): Route[] {
  return rows.map((row) => {
    if (asksOf(row) !== asks) return row;
    const { answer, body, parameters } = row;
    const copy: Json = structuredClone({ answer, body, parameters: JSON.parse(JSON.stringify(parameters)) });
    change(copy);
    return { ...row, ...copy };
  });
}

test('the types of the SDK match the schemas of the service, for every argument and result', async (t) => {
  const calls = await sdkCalls();
  // Simulated schema changes, with the type assertions that must fail for each.
  const drifts: [Route[], string[]][] = [
    [
      changed('GET /events/{}', ({ answer }) => delete answer.properties.data.properties.user_id),
      ['events.get gives these fields'],
    ],
    [
      changed('GET /tasks', ({ answer }) => answer.properties.data.items.properties.active.enum.push('3')),
      ['tasks.list lists active', 'tasks.each gives active'],
    ],
    [changed('POST /clients', ({ body }) => delete body.properties.notes), ['clients.create takes these fields']],
    [changed('POST /tasks/{}', ({ body }) => body.required.push('color')), ['tasks.create takes color']],
    [changed('PUT /projects/{}', ({ body }) => body.properties.price.type.pop()), ['projects.update takes price']],
    [
      changed('GET /clients', ({ parameters }) => parameters.order.schema.enum.pop()),
      ['clients.list asks order', 'clients.each asks order'],
    ],
    [
      changed('GET /notifications', ({ answer }) => delete answer.properties.next),
      ['notifications.list gives these fields'],
    ],
    [rows.filter((row) => asksOf(row) !== 'GET /company'), ['company.get reaches a row']],
  ];
  const promises = promisesOf(calls, rows);
  assert.ok(promises.length > 500, String(promises.length));
  const [wrong, ...found] = broken(
    temporaryFolder(t),
    promises,
    ...drifts.map(([drifted]) => promisesOf(calls, drifted)),
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    found,
    drifts.map(([, says]) => says),
  );
});
