import { createRequire } from 'node:module';

const express = createRequire(import.meta.resolve('parse-server'))('express');

const KEYS = { appId: 'bench', masterKey: 'bench-master' };

/** Default options on PostgreSQL. The class and its index exist before the first request. */
export async function serve({ address, port }) {
  // Read at import: otherwise it writes its log into the current folder.
  process.env.PARSE_SERVER_LOGS_FOLDER = 'null';
  const { ParseServer } = await import('parse-server');
  const serverURL = `http://127.0.0.1:${port}/parse`;
  const server = new ParseServer({
    ...KEYS,
    databaseURI: address,
    serverURL,
    logsFolder: null,
    logLevel: 'error',
    silent: true,
  });
  await server.start();
  const app = express();
  app.use('/parse', server.app);
  await new Promise((resolve) => app.listen(port, '127.0.0.1', resolve));
  const text = { type: 'String' };
  await fetch(`${serverURL}/schemas/Event`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-parse-application-id': KEYS.appId,
      'x-parse-master-key': KEYS.masterKey,
    },
    body: JSON.stringify({
      className: 'Event',
      fields: { event_name: text, start_date: text, due_date: text },
      indexes: { by_start: { start_date: 1 } },
      classLevelPermissions: { find: { '*': true }, get: { '*': true }, create: { '*': true }, count: { '*': true } },
    }),
  }).then(async (response) => {
    if (!response.ok) throw new Error(await response.text());
  });
}
