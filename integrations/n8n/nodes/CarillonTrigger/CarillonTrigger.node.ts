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
import { messageOf } from '../parts/call';
import { fetchRecord, parseRecordUrl } from '../parts/record';
import { kinds, resourceTypes, titleOf } from '../parts/table';
import { isSubscribed, subscribe, unsubscribe, type WantedHook } from './subscription';

/** Starts a workflow when a webhook notification arrives. Each active workflow has one hook; nothing is polled. */
export class CarillonTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Carillon Trigger',
    name: 'carillonTrigger',
    icon: { light: 'file:../parts/carillon.svg', dark: 'file:../parts/carillon.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{$parameter["kind"]}}',
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
        description:
          'Of what you did yourself, that is the user of the key; for what others do, take the Carillon Feed Trigger',
        options: kinds.filter(({ hooks }) => hooks).map(({ name }) => ({ name: titleOf(name), value: name })),
      },
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
    const { resource_url } = this.getBodyData();
    const recordAddress = await parseRecordUrl(this, resource_url);
    if (recordAddress === undefined)
      return sendResponse(this, 400, 'resource_url is no address of a record below the base URL.');
    const kind = this.getNodeParameter('kind') as string;
    // In the notification of a hook test, `resource_url` is the address of the hook itself (X1).
    if (recordAddress.plural !== pluralOf(kind)) return sendResponse(this, 200, 'Nothing to do.');
    let record: IDataObject | undefined;
    try {
      record = await fetchRecord(this, recordAddress);
    } catch (error) {
      // Carillon retries after a failure. Never respond with 401, which would end the hook.
      this.logger.warn(`Carillon Trigger could not fetch ${String(resource_url)}: ${messageOf(error)}`);
      return sendResponse(this, 502, 'The record could not be fetched.');
    }
    if (record === undefined) return sendResponse(this, 200, 'Deleted since.');
    const delivery_id = this.getHeaderData()['webhook-id'] ?? '';
    return { workflowData: [[{ json: { kind, resource_url, delivery_id, record } }]] };
  }
}

function wantedHookOf(context: IHookFunctions): WantedHook {
  const target = context.getNodeWebhookUrl('default');
  if (target === undefined) throw new NodeOperationError(context.getNode(), 'This workflow has no webhook URL yet.');
  return { target, kind: context.getNodeParameter('kind') as string };
}

function pluralOf(kind: string): string | undefined {
  const resourceType = kinds.find(({ name }) => name === kind)?.resourceType;
  return resourceTypes.find(({ name }) => name === resourceType)?.plural;
}

/** Sends a response without starting the workflow. */
function sendResponse(context: IWebhookFunctions, status: number, message: string): IWebhookResponseData {
  context.getResponseObject().status(status).json({ message });
  return { noWebhookResponse: true };
}
