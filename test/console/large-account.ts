import { plusDays } from '../../console/src/app/calendar-dates.ts';
import type { ApiUser, TestService } from '../kit/service/service.ts';
import { NOW } from './example.ts';

/** Number of records of each type after some months of use. A small account would show few layout faults. */
export const RECORD_COUNTS = {
  people: 20,
  clients: 15,
  contacts: 25,
  projects: 60,
  tasks: 400,
  events: 300,
  comments: 30,
};

/** Ids of two projects and of a task that tests open. */
export type LargeAccount = {
  readonly undatedProjectId: string;
  readonly busyProjectId: string;
  readonly taskId: string;
};

const TODAY = new Date(NOW).toISOString().slice(0, 10);

/** Concurrent requests, below the limit at which the server sheds load. */
const BATCH_SIZE = 40;

async function inBatches<T>(count: number, create: (index: number) => Promise<T>): Promise<readonly T[]> {
  const created: T[] = [];
  for (let first = 0; first < count; first += BATCH_SIZE) {
    const size = Math.min(BATCH_SIZE, count - first);
    created.push(...(await Promise.all(Array.from({ length: size }, (_, index) => create(first + index)))));
  }
  return created;
}

const itemAt = <T>(list: readonly T[], index: number): T => {
  const found = list[index % list.length];
  if (found === undefined) throw new Error('The list is empty.');
  return found;
};

const toApiDay = (day: string) => day.replaceAll('-', '');

/** Returns a day within `spread` days of today. */
const dayNear = (index: number, spread: number) => plusDays(TODAY, ((index * 37) % (2 * spread)) - spread);

const COLORS = ['#3b7a57', '#4338ca', '#b7791f', '#be3455', '#0e7490', '#7c3aed', ''];
const FIRST_NAMES = ['Ada', 'Graciela', 'Bartholomew', 'Mei', 'Ines', 'Olu', 'Søren', 'Wilhelmina', 'Jo', 'Tadeusz'];
const LAST_NAMES = [
  'Lovelace',
  'Featherstonehaugh',
  'Wang',
  'García Márquez',
  'Ng',
  'Oyelaran',
  'Lindqvist',
  'Brzęczyszczykiewicz',
];
const CLIENT_NAMES = [
  'Nordlys Hosting',
  'Bellfounders’ Guild',
  'City of Zürich, Department of Civil Engineering',
  'Acme',
  'OpenJS Foundation',
];
const PROJECT_NAMES = [
  'Website relaunch',
  'Q4 campaign',
  'Migration of the warehouse and billing systems to the new data centre',
  'Node.js v27',
  'Office move',
  'Annual report',
];
const TASK_NAMES = [
  'Prepare press kit',
  'Call the printer',
  'Review the translated terms and conditions with the legal department',
  'Fix login',
  'Write the announcement',
  'Order badges',
  'Plan the end of the previous release line',
];
const EVENT_NAMES = [
  'Standup',
  'Steering committee with all project leads',
  'Lunch with Bob',
  'Sprint review',
  '1:1',
  'Interview: senior backend engineer',
  'Board',
];
const COMMENT_TEXT =
  'I have checked the numbers against last year, and they look right to me. Can somebody confirm the total?';

/** Fills an account through the API with the data of a team of twenty after some months. */
export async function fillLargeAccount({ baseUrl }: TestService, owner: ApiUser): Promise<LargeAccount> {
  const { carillon } = owner;
  const users = await inBatches(RECORD_COUNTS.people, (index) =>
    carillon.users.create({
      email: `person-${index}@${owner.domain}`,
      first_name: itemAt(FIRST_NAMES, index),
      last_name: itemAt(LAST_NAMES, index),
      role: index % 5 === 0 ? 'admin' : 'member',
    }),
  );
  const userIdAt = (index: number) => itemAt(users, index).user_id;
  const clients = await inBatches(RECORD_COUNTS.clients, (index) =>
    carillon.clients.create({
      client_name: `${itemAt(CLIENT_NAMES, index)} ${index}`,
      email: `desk-${index}@customer.example`,
    }),
  );
  await inBatches(RECORD_COUNTS.contacts, (index) =>
    carillon.contacts.create({
      contact_name: `${itemAt(FIRST_NAMES, index + 3)} ${itemAt(LAST_NAMES, index)}`,
      role: 'Head of procurement',
      email: `contact-${index}@customer.example`,
      client_id: itemAt(clients, index).client_id,
    }),
  );
  const projects = await inBatches(RECORD_COUNTS.projects, (index) =>
    carillon.projects.create({
      project_name: `${itemAt(PROJECT_NAMES, index)} ${index}`,
      color: itemAt(COLORS, index),
      client_id: index % 4 === 0 ? '0' : itemAt(clients, index).client_id,
      tags: index % 3 === 0 ? 'internal,priority' : '',
      // Every third project has no dates, like a new project.
      ...(index % 3 !== 0 && {
        start_date: toApiDay(dayNear(index, 90)),
        due_date: toApiDay(plusDays(dayNear(index, 90), 45)),
      }),
      users: [userIdAt(index), userIdAt(index + 1), userIdAt(index + 2), userIdAt(index + 3)],
    }),
  );
  const projectIdAt = (index: number) => itemAt(projects, index).project_id;
  const undated = projectIdAt(0);
  const busy = projectIdAt(1);
  const tasks = await inBatches(RECORD_COUNTS.tasks, (index) => {
    const isUndated = index % 3 === 0;
    const projectId = isUndated ? projectIdAt(index) : index % 5 === 0 ? busy : projectIdAt(index * 7 + (index % 3));
    return carillon.tasks.create(projectId, {
      task_name: `${itemAt(TASK_NAMES, index)} ${index}`,
      // Every third task and all tasks of the undated project have no due date.
      ...(!isUndated && projectId !== undated && { due_date: toApiDay(dayNear(index, 60)) }),
      users: index % 2 === 0 ? [userIdAt(index)] : [],
      tags: index % 11 === 0 ? 'blocked' : '',
    });
  });
  const task = itemAt(tasks, 0).task_id;
  await inBatches(8, (index) =>
    carillon.subtasks.create(task, { subtask_name: `${itemAt(TASK_NAMES, index + 2)} ${index}` }),
  );
  await fillCalendar(owner, projectIdAt);
  await inBatches(RECORD_COUNTS.comments, (index) =>
    carillon.comments.create(undated, { comment: COMMENT_TEXT, ...(index % 2 === 0 && { task_id: task }) }),
  );
  await inBatches(24, (index) =>
    carillon.timeEntries.create(itemAt(tasks, index).task_id, {
      seconds: 900 + 600 * (index % 20),
      date: toApiDay(plusDays(TODAY, -(index % 5))),
      description: index % 3 === 0 ? '' : 'Numbers compared, sent to the client',
    }),
  );
  await carillon.teams.create({ team_name: 'Reviewers', color: '#4338ca', users: users.map(({ user_id }) => user_id) });
  await carillon.teams.create({ team_name: 'People who are on call at night', color: '#16a34a', users: [userIdAt(0)] });
  await inBatches(12, (index) =>
    carillon.hooks.create({
      target_url: `${baseUrl.replace(/:\d+$/, ':9')}/receivers/of/the/billing/system/${index}/k7Qd2xP04eZr81n`,
      event: index % 2 === 0 ? 'new_event' : 'new_client',
    }),
  );
  await carillon.clients.create({ client_name: 'A client whom the webhooks report' });
  await inBatches(8, (index) =>
    carillon.keys.create({ label: `${itemAt(PROJECT_NAMES, index)}, read only, ${index}` }),
  );
  return { undatedProjectId: undated, busyProjectId: busy, taskId: task };
}

/** Creates events over three months: all-day events, events early in the morning, and concurrent events. */
async function fillCalendar({ carillon }: ApiUser, projectOf: (index: number) => string): Promise<void> {
  await inBatches(RECORD_COUNTS.events, (index) => {
    const day = dayNear(index * 3 + (index % 7), 45);
    const event = { event_name: itemAt(EVENT_NAMES, index), project_id: index % 3 === 0 ? '0' : projectOf(index) };
    if (index % 6 === 0) {
      return carillon.events.create({
        ...event,
        start_date: toApiDay(day),
        due_date: toApiDay(plusDays(day, index % 4)),
      });
    }
    const hour = 8 + ((index * index) % 9);
    const time = (hours: number, minutes: string) => `${day} ${String(hours).padStart(2, '0')}:${minutes}:00`;
    const due_date = index % 4 === 0 ? time(hour, '30') : time(hour + 1 + (index % 2), '15');
    return carillon.events.create({ ...event, start_date: time(hour, '00'), due_date });
  });
}
