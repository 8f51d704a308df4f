import {
  type IDataObject,
  type IHookFunctions,
  type INodeType,
  type INodeTypeDescription,
  type IWebhookFunctions,
  type IWebhookResponseData,
  NodeConnectionTypes,
  NodeOperationError,
} from 'n8n-workflow';
import { fetchRecord, messageOf, parseRecordUrl } from '../parts/call';
import { readScope, scopePropertiesOf, searchProjects } from '../parts/scope';
import { kinds, titleOf } from '../parts/table';
import { isSubscribed, subscribe, unsubscribe, type WantedHook } from './subscription';

/** The event that stands for all kinds, also for those of later versions of the service. */
const ALL_KINDS = '*';

/**
 * Starts a workflow when a webhook notification arrives. Each active workflow has one hook; nothing is polled. In
 * version 1 of the node, the hook reports one event kind of its own user. Version 2 has several kinds and a scope.
 */
export class CarillonTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Carillon Trigger',
    name: 'carillonTrigger',
    icon: { light: 'file:../parts/carillon.svg', dark: 'file:../parts/carillon.dark.svg' },
    group: ['trigger'],
    version: [1, 2],
    defaultVersion: 2,
    subtitle: '={{ ($parameter["events"] || [$parameter["kind"]]).join(", ") }}',
    description: 'Starts the workflow when Carillon rings, with the record that it rings for',
    defaults: { name: 'Carillon Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'carillonApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: '={{$parameter["answer"]}}', path: 'carillon' }],
    properties: [
      {
        displayName: 'Event',
        name: 'kind',
        type: 'options',
        required: true,
        default: 'new_event',
        displayOptions: { show: { '@version': [1] } },
        description:
          'Of what you did yourself, that is the user of the key; a newly added Carillon Trigger also offers what others do',
        options: kinds.filter(({ hooks }) => hooks).map(({ name }) => ({ name: titleOf(name), value: name })),
      },
      {
        displayName: 'Events',
        name: 'events',
        type: 'multiOptions',
        required: true,
        default: [],
        displayOptions: { show: { '@version': [2] } },
        options: [
          { name: 'All', value: ALL_KINDS, description: 'Whatever happens to records that the key may read' },
          ...kinds.map(({ name }) => ({ name: titleOf(name), value: name })),
        ],
      },
      ...scopePropertiesOf('own', { '@version': [2] }),
      {
        displayName: 'Answer',
        name: 'answer',
        type: 'options',
        default: 'onReceived',
        description: 'When to confirm the delivery to Carillon',
        options: [
          {
            name: 'Immediately',
            value: 'onReceived',
            description: 'As soon as the record is fetched and the workflow begins',
          },
          {
            name: 'When the Workflow Has Finished',
            value: 'lastNode',
            description: 'A workflow that fails gets the delivery again; it must finish within 15 seconds',
          },
        ],
      },
    ],
  };

  methods = { listSearch: { searchProjects } };

  webhookMethods = {
    default: {
      checkExists(this: IHookFunctions): Promise<boolean> {
        return isSubscribed(this, wantedHookOf(this));
      },
      async create(this: IHookFunctions): Promise<boolean> {
        await subscribe(this, wantedHookOf(this));
        return true;
      },
      delete(this: IHookFunctions): Promise<boolean> {
        return unsubscribe(this);
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const headers = this.getHeaderData();
    const events = readEvents(this);
    // A service that does not send the kind notifies of one kind only.
    const notifiedKind = headers['webhook-event'] ?? (events.length === 1 ? events[0] : undefined);
    const kind = kinds.find(({ name }) => name === notifiedKind);
    // The kind is unknown for a hook test (X1), or if the service is newer than this package.
    if (kind === undefined || !events.some((event) => event === ALL_KINDS || event === kind.name))
      return sendResponse(this, 200, 'Nothing to do.');
    const { resource_url } = this.getBodyData();
    const recordAddress = await parseRecordUrl(this, resource_url);
    if (recordAddress === undefined)
      return sendResponse(this, 400, 'resource_url is no address of a record below the base URL.');
    if (recordAddress.plural !== kind.plural) return sendResponse(this, 200, 'Nothing to do.');
    let record: IDataObject | undefined;
    try {
      record = await fetchRecord(this, recordAddress);
    } catch (error) {
      // Carillon retries after a failure. Never respond with 401, which would end the hook.
      this.logger.warn(`Carillon Trigger could not fetch ${String(resource_url)}: ${messageOf(error)}`);
      return sendResponse(this, 502, 'The record could not be fetched.');
    }
    // Anyone can POST to a target, so the service is also asked whether the record was deleted.
    const isDeletion = kind.name.startsWith('deleted_');
    if (isDeletion !== (record === undefined))
      return sendResponse(this, 200, isDeletion ? 'Not deleted.' : 'Deleted since.');
    const json = {
      kind: kind.name,
      cursor: headers['webhook-cursor'] ?? '',
      fields: String(headers['webhook-fields'] ?? '')
        .split(',')
        .filter((name) => name !== ''),
      resource_url,
      record_id: recordAddress.id,
      delivery_id: headers['webhook-id'] ?? '',
      record: record ?? null,
    };
    return { workflowData: [[{ json }]] };
  }
}

/** Returns the selected event kinds, or only `*` for all. */
function readEvents(context: IHookFunctions | IWebhookFunctions): string[] {
  if (context.getNode().typeVersion === 1) return [context.getNodeParameter('kind') as string];
  const events = context.getNodeParameter('events') as string[];
  return events.includes(ALL_KINDS) ? [ALL_KINDS] : events;
}

function wantedHookOf(context: IHookFunctions): WantedHook {
  const target_url = context.getNodeWebhookUrl('default');
  if (target_url === undefined)
    throw new NodeOperationError(context.getNode(), 'This workflow has no webhook URL yet.');
  const events = readEvents(context);
  if (events.length === 0) throw new NodeOperationError(context.getNode(), 'Select at least one event.');
  return { target_url, events, ...readScope(context) };
}

/** Sends a response without starting the workflow. */
function sendResponse(context: IWebhookFunctions, status: number, message: string): IWebhookResponseData {
  context.getResponseObject().status(status).json({ message });
  return { noWebhookResponse: true };
}
