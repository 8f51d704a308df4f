import { fastify } from 'fastify';

// Floor F1: a bare Fastify that answers a POST with a fixed body.
const app = fastify();
const fixed = {
  data: { event_id: '1', event_name: 'Release', start_date: '2027-01-01 00:00:00', due_date: '2027-01-02 00:00:00' },
};
app.post('/', (_request, reply) => reply.code(201).send(fixed));
await app.listen({ port: 0, host: '127.0.0.1' });
const address = app.server.address();
process.stdout.write(`console: http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/
`);
