import { fastify } from 'fastify';
import { reportUrl } from './where.ts';

// Baseline F1: a Fastify server that returns a fixed body and does nothing else.
const app = fastify();
const data = {
  event_id: '1',
  event_name: 'Release',
  start_date: '2027-01-01 00:00:00',
  due_date: '2027-01-02 00:00:00',
  project_id: '0',
  date_created: '2026-11-20 12:00:00',
  date_modified: '0000-00-00 00:00:00',
  user_id: '1',
};
app.post('/', (_request, reply) => reply.code(201).send({ data }));
app.get('/', (_request, reply) => reply.send({ data }));
await app.listen({ port: 0, host: '127.0.0.1' });
reportUrl(app.server);
