import type { OccurrenceKind } from '../../../src/delivery/outbox/event-kinds.ts';
import type { ApiClient, ApiRequest } from './api-client.ts';
import type { SimulatedUser } from './seed-database.ts';

const resourceTypes = {
  event: { kind: 'new_event', parent: undefined },
  client: { kind: 'new_client', parent: undefined },
  project: { kind: 'new_project', parent: undefined },
  task: { kind: 'new_task', parent: 'project' },
  subtask: { kind: 'new_subtask', parent: 'task' },
} as const satisfies Record<string, { kind: OccurrenceKind; parent: string | undefined }>;

type ResourceType = keyof typeof resourceTypes;

/** Resource types to create. Repeated types are more likely. */
const weightedTypes: readonly ResourceType[] = [
  ...Array<'event'>(4).fill('event'),
  'client',
  'project',
  'task',
  'task',
  'subtask',
];

/** Kinds of the hooks. Completions are over-represented, because they occur rarely. */
export const hookKinds: readonly OccurrenceKind[] = [
  ...weightedTypes.map((resourceType) => resourceTypes[resourceType].kind),
  'completed_task',
  'completed_subtask',
];

type CreatedRecord = {
  readonly resourceType: ResourceType;
  readonly url: string;
  readonly who: SimulatedUser;
  readonly word: string;
  readonly parent: CreatedRecord | undefined;
  isParent: boolean;
  isDeleted: boolean;
  completion: 'none' | 'asked' | 'done' | 'reopened';
  /** Whether it may be completed again by a request in flight. */
  mayBeCompletedAgain?: true;
};

const idOf = ({ url }: CreatedRecord): string => url.split('/').at(-1) ?? '';

const hasCompletion = ({ completion }: CreatedRecord, ...states: CreatedRecord['completion'][]): boolean =>
  states.includes(completion);

/** Clients that create, complete, change, delete and list records. */
export class RecordClients {
  /** Words of rejected records, which must not exist. */
  readonly rejectedWords = new Set<string>();
  readonly #client: ApiClient;
  readonly #createdRecords: CreatedRecord[] = [];
  #retries: (() => void)[] = [];
  #count = 0;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  readonly create = (): void => this.#create(this.#client.randomUser(), this.#client.random.pick(weightedTypes));

  /** Occasionally creates more events at once than a hook queue loads. */
  readonly flood = (): void => {
    if (this.#client.random.integerBelow(3) > 0) return;
    const who = this.#client.randomUser();
    for (let count = 10 + this.#client.random.integerBelow(40); count > 0; count -= 1) this.#create(who, 'event');
  };

  #create(who: SimulatedUser, resourceType: ResourceType): void {
    const client = this.#client;
    const { kind, parent: parentType } = resourceTypes[resourceType];
    this.#count += 1;
    const word = `${who.domain} ${this.#count}`;
    const parent = client.pick(
      this.#createdRecords.filter(
        (one) => one.resourceType === parentType && !one.isDeleted && one.who.domain === who.domain,
      ),
    );
    if (parentType !== undefined && parent === undefined) return;
    if (parent !== undefined) parent.isParent = true;
    const dates = resourceType === 'event' ? { start_date: '20270501', due_date: '20270502' } : {};
    const idempotency = client.random.integerBelow(3) === 0 ? { idempotencyKey: `once-${this.#count}` } : {};
    const url = `/v2/${resourceType}s${parent === undefined ? '' : `/${parent.url.split('/').at(-1)}`}`;
    const request: ApiRequest = {
      method: 'POST',
      url,
      body: { [`${resourceType}_name`]: word, ...dates },
      ...idempotency,
    };
    const of = parent === undefined ? {} : { above: client.baseUrl + parent.url };
    const call = client.newCall({ did: 'occur', kind, userId: who.userId, record: undefined, word, ...of });
    let made: CreatedRecord | undefined;
    const send = () => {
      const done = (id: string) => {
        const address = `/v2/${resourceType}s/${id}`;
        if (made !== undefined && made.url !== address)
          client.violations.push(`${word} was created under one Idempotency-Key as ${made.url} and ${address}`);
        if (made !== undefined) return;
        Object.assign(call, { record: client.baseUrl + address });
        made = { resourceType, url: address, who, word, parent, isParent: false, isDeleted: false, completion: 'none' };
        this.#createdRecords.push(made);
      };
      // With an Idempotency-Key, an earlier request may have created the record before this request was rejected.
      const undone = () => void ('idempotencyKey' in idempotency || this.rejectedWords.add(word));
      client.sendRecorded(who, request, [call], ({ json }) => done(json.data[`${resourceType}_id`]), undone);
    };
    send();
    if ('idempotencyKey' in idempotency) this.#retries.push(send);
  }

  /** Forgets the Idempotency-Keys, because more than a day has passed by the clock of the service (X4). */
  forgetIdempotencyKeys(): void {
    this.#retries = [];
  }

  readonly retry = (): void => this.#client.pick(this.#retries)?.();

  /**
   * Completes a record. Completing a task also completes its open subtasks, unless another request completes them
   * (C33). Completing a completed record has no effect.
   */
  readonly complete = (): void => {
    const client = this.#client;
    const of = hasCompletion;
    const under = (task: CreatedRecord) => this.#createdRecords.filter(({ parent }) => parent === task);
    const one = client.pick(
      this.#createdRecords.filter((made) => {
        if (made.isDeleted || of(made, 'asked', 'reopened')) return false;
        if (made.resourceType === 'subtask') return made.parent === undefined || of(made.parent, 'none');
        return made.resourceType === 'task' && !under(made).some((below) => of(below, 'asked', 'reopened'));
      }),
    );
    if (one === undefined) return;
    const who = client.pick(client.people.filter(({ domain }) => domain === one.who.domain)) ?? one.who;
    const request = { method: 'PUT', url: one.url, body: { completed: 1 } } as const;
    if (of(one, 'done')) {
      one.mayBeCompletedAgain = true;
      client.sendUnrecorded(who, request, () => undefined);
      return;
    }
    const completed = [one, ...under(one).filter((below) => !below.isDeleted && of(below, 'none'))];
    const calls = completed.map(({ resourceType, url, word }) =>
      client.newCall({
        did: 'occur',
        kind: resourceType === 'task' ? 'completed_task' : 'completed_subtask',
        userId: who.userId,
        record: client.baseUrl + url,
        word,
      }),
    );
    const setCompletion = (completion: CreatedRecord['completion']) => () => {
      for (const made of completed) made.completion = completion;
    };
    setCompletion('asked')();
    client.sendRecorded(who, request, calls, setCompletion('done'), setCompletion('none'));
  };

  /** Reopens a completed record. It is not completed again, so that each completion has one request. */
  readonly reopen = (): void => {
    const client = this.#client;
    const one = client.pick(
      this.#createdRecords.filter(
        (made) => !made.isDeleted && hasCompletion(made, 'done') && !made.mayBeCompletedAgain,
      ),
    );
    if (one === undefined) return;
    one.completion = 'reopened';
    client.sendUnrecorded(one.who, { method: 'PUT', url: one.url, body: { resume: 1 } }, () => undefined);
  };

  /** Changes texts of a record, assigns users, or moves the record to another project. */
  readonly change = (): void => {
    const client = this.#client;
    const one = client.pick(this.#createdRecords.filter(({ isDeleted }) => !isDeleted));
    if (one === undefined) return;
    const text = `changed ${client.random.integerBelow(3)}`;
    const bodies: Record<string, unknown>[] = [{ notes: text, description: text }, { description: text }];
    const user = client.pick(client.people.filter(({ domain }) => domain === one.who.domain));
    if (user !== undefined && !['event', 'client'].includes(one.resourceType))
      bodies.push({ users: [user.userId] }, { users: [user.userId], description: text });
    const project = client.pick(this.#projectsOf(one.who.domain));
    if (project !== undefined && ['event', 'task'].includes(one.resourceType)) {
      const project_id = idOf(project);
      bodies.push({ project_id }, { project_id, description: text });
    }
    const body = client.random.pick(bodies);
    // The project cannot be deleted any more, because the deletion would include the task.
    if ('project_id' in body && project !== undefined && one.resourceType === 'task') project.isParent = true;
    client.sendUnrecorded(one.who, { method: 'PUT', url: one.url, body }, () => undefined);
  };

  /** Returns the ids of the projects of an account. */
  projectIdsOf(domain: string): readonly string[] {
    return this.#projectsOf(domain).map(idOf);
  }

  #projectsOf(domain: string): CreatedRecord[] {
    return this.#createdRecords.filter(
      (made) => made.resourceType === 'project' && !made.isDeleted && made.who.domain === domain,
    );
  }

  readonly delete = (): void => {
    const client = this.#client;
    const free = ({ isDeleted, isParent, completion }: CreatedRecord) =>
      !isDeleted && !isParent && completion !== 'asked';
    const one = client.pick(this.#createdRecords.filter(free));
    if (one === undefined) return;
    one.isDeleted = true;
    const call = client.newCall({ did: 'delete', record: client.baseUrl + one.url });
    client.sendRecorded(one.who, { method: 'DELETE', url: one.url }, [call], () => undefined);
  };

  /** Lists records and checks that no record belongs to another account (C3). */
  readonly list = (): void => {
    const who = this.#client.randomUser();
    const resourceType = this.#client.random.pick(Object.keys(resourceTypes) as ResourceType[]);
    this.#client.sendUnrecorded(who, { method: 'GET', url: `/v2/${resourceType}s` }, ({ status, json }) => {
      if (status !== 200) return;
      for (const record of json.data) {
        const word = String(record[`${resourceType}_name`]);
        if (!word.startsWith(`${who.domain} `))
          this.#client.violations.push(`${who.domain} saw ${word} of another account`);
      }
    });
  };

  readonly accessForeignRecord = (): void => {
    const client = this.#client;
    const one = client.pick(this.#createdRecords);
    const who = client.randomUser();
    if (one === undefined || one.who.domain === who.domain) return;
    const method = client.random.pick(['GET', 'PUT', 'DELETE'] as const);
    const body = method === 'PUT' ? { body: { description: 'mine' } } : {};
    client.sendUnrecorded(who, { method, url: one.url, ...body }, ({ status }) => {
      if (status < 300) client.violations.push(`${who.domain} could ${method} ${one.url} of ${one.who.domain}`);
    });
  };
}
