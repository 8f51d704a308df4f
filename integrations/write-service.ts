import { writeFileSync } from 'node:fs';
import { serviceTableDocument } from '../test/documents/reference.ts';
import { documentedRoutes } from '../test/documents/routes.ts';

// First step of each package's build: `node ../write-service.ts src/service.json` writes the table of operations from
// which actions and triggers are made. The table is derived from the routes of the service and not committed.
const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('name the file to write');
writeFileSync(path, serviceTableDocument(documentedRoutes()));
