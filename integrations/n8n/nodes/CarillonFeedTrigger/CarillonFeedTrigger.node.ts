import {
  type INodeType,
  type INodeTypeDescription,
  type ITriggerFunctions,
  type ITriggerResponse,
  NodeConnectionTypes,
} from 'n8n-workflow';
import { readScope, scopePropertiesOf, searchProjects } from '../parts/scope';
import { kinds, titleOf } from '../parts/table';
import { type FeedFilter, fetchEndOfFeed, followFeed } from './feed';

/** Starts a workflow for every occurrence of the account, by any user, including changes and deletions. */
export class CarillonFeedTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Carillon Feed Trigger',
    name: 'carillonFeedTrigger',
    icon: { light: 'file:../parts/carillon.svg', dark: 'file:../parts/carillon.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{$parameter["scope"]}}',
    description: 'Starts the workflow for what anybody in the account does, and misses nothing while n8n is away',
    defaults: { name: 'Carillon Feed Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'carillonApi', required: true }],
    properties: [
      ...scopePropertiesOf('account'),
      {
        displayName: 'Events',
        name: 'kinds',
        type: 'multiOptions',
        default: [],
        description: 'Left empty, all of them',
        options: kinds.map(({ name }) => ({ name: titleOf(name), value: name })),
      },
    ],
  };

  methods = { listSearch: { searchProjects } };

  async trigger(this: ITriggerFunctions): Promise<ITriggerResponse> {
    const feedFilter: FeedFilter = {
      kinds: this.getNodeParameter('kinds') as string[],
      scope: readScope(this),
    };
    const staticData = this.getWorkflowStaticData('node');
    // Fetch the cursor before following the feed: a missing permission then fails the activation, and n8n saves the
    // cursor with the activation.
    staticData.cursor ??= await fetchEndOfFeed(this, feedFilter.scope);

    const closeController = new AbortController();
    const closeFunction = async () => closeController.abort();
    const start = async () => {
      // n8n shows an emitted error, and activates the workflow again after a while.
      followFeed(this, feedFilter, closeController.signal).catch((error: Error) => this.emitError(error));
    };
    // In the editor n8n waits for the first occurrence and calls `start` itself.
    if (this.getMode() === 'manual') return { closeFunction, manualTriggerFunction: start };
    await start();
    return { closeFunction };
  }
}
