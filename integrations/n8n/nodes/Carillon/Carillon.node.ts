import {
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
  NodeApiError,
  NodeConnectionTypes,
  NodeOperationError,
} from 'n8n-workflow';
import { resources } from './operations';
import { perform } from './perform';
import { properties } from './properties';

/** n8n node that reads and writes the records of one Carillon account. */
export class Carillon implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Carillon',
    name: 'carillon',
    icon: { light: 'file:../parts/carillon.svg', dark: 'file:../parts/carillon.dark.svg' },
    group: ['transform'],
    version: 1,
    subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
    description: 'Events, clients, projects, tasks and subtasks of Carillon',
    defaults: { name: 'Carillon' },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials: [{ name: 'carillonApi', required: true }],
    properties,
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const results: INodeExecutionData[] = [];
    for (const itemIndex of this.getInputData().keys()) {
      try {
        const resource = resources[this.getNodeParameter('resource', itemIndex) as string];
        const operation = resource?.operations[this.getNodeParameter('operation', itemIndex) as string];
        if (resource === undefined || operation === undefined) {
          throw new NodeOperationError(this.getNode(), 'There is no such operation.', { itemIndex });
        }
        const records = await perform(this, resource, operation, itemIndex);
        results.push(...records.map((json) => ({ json, pairedItem: { item: itemIndex } })));
      } catch (error) {
        const failure = new NodeApiError(this.getNode(), error as JsonObject, { itemIndex });
        if (!this.continueOnFail()) throw failure;
        const { message, httpCode } = failure;
        results.push({ json: { error: message, status: httpCode ?? null }, pairedItem: { item: itemIndex } });
      }
    }
    return [results];
  }
}
