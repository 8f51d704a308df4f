import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import type {
  ICredentialDataDecryptedObject,
  ICredentialsHelper,
  IDataObject,
  IHttpRequestOptions,
  INode,
  INodeExecutionData,
  INodeListSearchResult,
  INodeType,
  IWebhookData,
  IWebhookResponseData,
  IWorkflowExecuteAdditionalData,
} from 'n8n-workflow';
import { atEnd, type Cleanup } from '../../../test/kit/cleanup.ts';

// Use n8n's own modules, so that contexts, requests and static data are those of a real n8n. Both are CommonJS.
const requireModule = createRequire(import.meta.url);
const core: typeof import('n8n-core') = requireModule('n8n-core');
const { Workflow }: typeof import('n8n-workflow') = requireModule('n8n-workflow');

export type Credentials = { baseUrl: string; domain: string; apiKey: string };

/** Loads this package as n8n loads community nodes. */
export async function loadPackage() {
  const loader = new core.PackageDirectoryLoader(join(import.meta.dirname, '..'));
  await loader.loadAll();
  return loader;
}

const { nodeTypes } = await loadPackage();
const credentialType = new (requireModule('../dist/credentials/CarillonApi.credentials.js').CarillonApi)();

/** Returns the node type of this package with the given name. */
export function getNodeType(name: string): INodeType {
  const found = nodeTypes[name]?.type;
  if (found === undefined || !('description' in found)) throw new Error(`no node ${name}`);
  return found as INodeType;
}

/** A workflow with one node of this package, and its static data. */
export type HostedNode = {
  readonly node: INode;
  readonly workflow: InstanceType<typeof Workflow>;
  readonly type: INodeType;
  readonly additionalData: IWorkflowExecuteAdditionalData;
};

/**
 * Creates a workflow with one node of this package.
 *
 * @param hostUrl base URL of n8n's webhooks
 * @param typeVersion the version of the node with which the workflow was saved
 */
export function createHostedNode(
  name: string,
  parameters: IDataObject,
  credentials: Credentials,
  hostUrl = 'http://127.0.0.1:9',
  typeVersion = 1,
): HostedNode {
  const type = getNodeType(name);
  const node = {
    id: randomUUID(),
    webhookId: randomUUID(),
    name: 'Bell',
    type: name,
    typeVersion,
    position: [0, 0],
    parameters,
    credentials: { carillonApi: { id: '1', name: 'Carillon' } },
  } as INode;
  const workflow = new Workflow({
    id: randomUUID(),
    nodes: [node],
    connections: {},
    active: true,
    nodeTypes: { getByName: () => type, getByNameAndVersion: () => type, getKnownTypes: () => ({}) },
  });
  const additionalData = {
    credentialsHelper: createCredentialsHelper(credentials),
    webhookBaseUrl: `${hostUrl}/webhook`,
    webhookTestBaseUrl: `${hostUrl}/webhook-test`,
  } as unknown as IWorkflowExecuteAdditionalData;
  return { node, workflow, type, additionalData };
}

/** Provides unencrypted credentials, unlike n8n, and applies them to requests as the credential type defines. */
function createCredentialsHelper(credentials: Credentials): ICredentialsHelper {
  const resolveExpression = (text: string) =>
    text.replace(/^=\{\{\$credentials\.(\w+)\}\}$/, (_, name: keyof Credentials) => credentials[name]);
  return {
    getParentTypes: () => [],
    isCredentialUsableByNode: () => true,
    getDecrypted: async () => ({ ...credentials }) as ICredentialDataDecryptedObject,
    preAuthentication: async () => undefined,
    authenticate: async (_: unknown, __: string, options: IHttpRequestOptions) => {
      const { headers } = credentialType.authenticate.properties;
      const filledHeaders = Object.entries<string>(headers).map(([name, value]) => [name, resolveExpression(value)]);
      return { ...options, headers: { ...options.headers, ...Object.fromEntries(filledHeaders) } };
    },
  } as unknown as ICredentialsHelper;
}

/** All warnings that the nodes have logged. */
export const loggedWarnings: string[] = [];

function withLogCapture<T extends object>(context: T): T {
  const warn = (...logArguments: unknown[]) => loggedWarnings.push(inspect(logArguments, { depth: 12 }));
  return Object.defineProperty(context, 'logger', { value: { warn } });
}

/** Activates the webhook of a node like n8n: creates the webhook only if it does not exist. */
export async function activate(hostedNode: HostedNode, isTest = false): Promise<boolean> {
  const { type } = hostedNode;
  const context = createHookContext(hostedNode, 'activate', isTest);
  const methods = type.webhookMethods?.default;
  if (methods === undefined) throw new Error('no webhook methods');
  const exists = await methods.checkExists.call(context);
  if (!exists) await methods.create.call(context);
  return exists;
}

export async function deactivate(hostedNode: HostedNode, isTest = false): Promise<void> {
  await hostedNode.type.webhookMethods?.default?.delete.call(createHookContext(hostedNode, 'update', isTest));
}

/** Returns the webhook URL of a workflow. */
export function webhookUrl(hostedNode: HostedNode, isTest = false): string {
  return createHookContext(hostedNode, 'activate', isTest).getNodeWebhookUrl('default') ?? '';
}

/**
 * Creates the context in which n8n calls the webhook methods of a node.
 *
 * @param isTest whether the workflow is tested in the editor, with another webhook URL and without static data
 */
function createHookContext(
  { workflow, node, additionalData }: HostedNode,
  activationMode: 'activate' | 'update',
  isTest: boolean,
) {
  const mode = isTest ? 'manual' : 'trigger';
  return withLogCapture(
    new core.HookContext(workflow, node, additionalData, mode, activationMode, { isTest } as IWebhookData),
  );
}

/** Searches a list from which the user chooses a value in the editor; returns all pages. */
export async function searchList({ workflow, node, type, additionalData }: HostedNode, method: string, filter: string) {
  const search = type.methods?.listSearch?.[method];
  if (search === undefined) throw new Error(`no list ${method}`);
  const pages: INodeListSearchResult[] = [];
  let token: string | undefined;
  do {
    const context = new core.LoadOptionsContext(workflow, node, additionalData, '');
    const page: INodeListSearchResult = await search.call(context, filter, token);
    pages.push(page);
    token = page.paginationToken;
  } while (token !== undefined);
  return pages.map(({ results }) => results);
}

/** The result of one POST to an n8n webhook: the status of the response, and the items that started the workflow. */
export type WebhookResult = { readonly status: number; readonly items: readonly IDataObject[]; readonly path: string };

/** Starts an HTTP server that handles webhooks like the web server of n8n. */
export async function startWebhookHost(context: Cleanup) {
  const hostedNodes: HostedNode[] = [];
  const webhookResults: WebhookResult[] = [];
  let nextResult = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const hostedNode = hostedNodes.find((one) => new URL(webhookUrl(one)).pathname === request.url);
    const { status, items } =
      hostedNode === undefined ? { status: 404, items: [] } : await handleWebhook(hostedNode, request);
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    webhookResults.push({ status, items, path: request.url ?? '' });
    nextResult.resolve();
    nextResult = Promise.withResolvers();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(context, () => server.close().closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (hostedNode: HostedNode) => hostedNodes.push(hostedNode),
    webhookResults,
    /** Resolves when `count` notifications in total have been answered. */
    async waitForResults(count: number): Promise<readonly WebhookResult[]> {
      while (webhookResults.length < count) await nextResult.promise;
      return webhookResults;
    },
  };
}

/** Handles a POST to a webhook like n8n: the node starts the workflow, or sends the response itself. */
async function handleWebhook({ workflow, node, type, additionalData }: HostedNode, request: IncomingMessage) {
  const ownResponse = { status: 200 };
  const responseStub = {
    status: (status: number) => {
      ownResponse.status = status;
      return responseStub;
    },
    json: () => responseStub,
  };
  const http = {
    httpRequest: { headers: request.headers, body: JSON.parse(await text(request)) },
    httpResponse: responseStub,
  };
  const context = new core.WebhookContext(
    workflow,
    node,
    { ...additionalData, ...http } as unknown as IWorkflowExecuteAdditionalData,
    'webhook',
    {} as never,
    [],
    null,
  );
  const webhookResponse: IWebhookResponseData = (await type.webhook?.call(withLogCapture(context))) ?? {};
  if (webhookResponse.noWebhookResponse) return { status: ownResponse.status, items: [] };
  return { status: 200, items: jsonOf(webhookResponse.workflowData) };
}

function jsonOf(data: readonly INodeExecutionData[][] | undefined): IDataObject[] {
  return (data ?? []).flat().map(({ json }) => json);
}

/**
 * Starts a trigger. Returns the items and errors that it emits, functions that wait for them, and `close`.
 */
export async function startTrigger(cleanup: Cleanup, { workflow, node, type, additionalData }: HostedNode) {
  const items: IDataObject[] = [];
  const errors: Error[] = [];
  let nextOutput = Promise.withResolvers<void>();
  const notifyWaiters = () => {
    nextOutput.resolve();
    nextOutput = Promise.withResolvers();
  };
  const recordError = (error: Error) => {
    errors.push(error);
    notifyWaiters();
  };
  const context = new core.TriggerContext(
    workflow,
    node,
    additionalData,
    'trigger',
    'activate',
    (data) => {
      items.push(...jsonOf(data));
      notifyWaiters();
    },
    recordError,
    recordError,
  );
  const response = await type.trigger?.call(withLogCapture(context));
  atEnd(cleanup, () => response?.closeFunction?.());
  const waitUntil = async (isDone: () => boolean) => {
    while (!isDone()) await nextOutput.promise;
  };
  return {
    items,
    errors,
    waitForItems: (count: number) => waitUntil(() => items.length >= count),
    waitForError: () => waitUntil(() => errors.length > 0),
    close: async () => response?.closeFunction?.(),
  };
}

/** Runs a regular node once for these items. */
export async function execute(
  { workflow, node, type, additionalData }: HostedNode,
  items: readonly IDataObject[] = [{}],
) {
  const input = items.map((json) => ({ json }));
  const data = { main: [input] };
  const context = new core.ExecuteContext(
    workflow,
    node,
    additionalData,
    'manual',
    { resultData: { runData: {} } } as never,
    0,
    input,
    data,
    { data, node, source: null },
    [],
  );
  const output = await type.execute?.call(context);
  return (Array.isArray(output) ? output : []).flat();
}

/** Starts a server that is not the Carillon service, and records the requests that it receives. */
export async function startForeignServer(context: Cleanup, respond: (response: ServerResponse) => void) {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    respond(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(context, () => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
