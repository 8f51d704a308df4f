import { occurrenceKinds } from '../../delivery/outbox/event-kinds.ts';
import type { Webhook } from '../../http/routes/openapi.ts';

/** The webhook that targets receive, as the OpenAPI document describes it (C15). */
export const webhooks: Readonly<Record<string, Webhook>> = {
  notification: {
    operationId: 'receiveNotification',
    summary: 'A notification of a hook, sent to its target.',
    description:
      'The body contains only an address: fetch the record there with your key. The request carries no authentication. Delivery is at least once: a repeated notification has the same `Webhook-Id`. Redirects are not followed.',
    tag: 'hooks',
    headers: [
      {
        name: 'Webhook-Id',
        description: 'Identifier of the delivery, the same in every attempt.',
        schema: { type: 'string', pattern: '^\\d{1,16}$' },
        required: true,
      },
      {
        name: 'Webhook-Event',
        description: 'The kind of the occurrence, or test.',
        schema: { type: 'string', enum: [...occurrenceKinds, 'test'] },
        required: true,
      },
      {
        name: 'Webhook-Cursor',
        description: 'The position of the occurrence in the feed; absent for a test.',
        schema: { type: 'string', pattern: '^\\d{1,16}$' },
      },
      {
        name: 'Webhook-Fields',
        description: 'For changed records: the names of the changed fields, separated by commas.',
        schema: { type: 'string', pattern: '^[a-z0-9_]*(,[a-z0-9_]+)*$' },
      },
      { name: 'User-Agent', description: 'Carillon and its version.', schema: { type: 'string' }, required: true },
      {
        name: 'Webhook-Timestamp',
        description: 'For signed hooks: start of this attempt, in seconds since 1970.',
        schema: { type: 'string', pattern: '^\\d{1,16}$' },
      },
      {
        name: 'Webhook-Signature',
        description: 'For signed hooks: one signature per secret, as in Standard Webhooks, separated by spaces.',
        schema: { type: 'string', pattern: '^v1,[\\w+/=]+( v1,[\\w+/=]+)*$' },
      },
    ],
    bodySchema: {
      title: 'WebhookPayload',
      type: 'object',
      required: ['resource_url'],
      properties: {
        resource_url: { type: 'string', format: 'uri', description: 'The address of the record that changed.' },
      },
    },
    responses: {
      200: 'Delivered. The status counts as soon as it has been read.',
      401: 'The hook ends immediately.',
      default: 'A failure, which is retried. The third in a row ends the hook.',
    },
  },
};
