/**
 * Records with the fields and formats that the existing service documents; the values are invented. Differences
 * from Carillon: an order is a timestamp or null, tracked seconds are a string or null, users have no role, and
 * comments have a file name.
 */

const NO_DATE = '0000-00-00 00:00:00';
const recordMetadata = { date_created: '2014-11-13 15:50:55', date_modified: '2014-11-13 16:54:01', user_id: '1234' };
const users = [
  { user_id: '1234', user_name: 'John Doe' },
  { user_id: '1235', user_name: 'Jane Doe' },
];
const teams = [{ team_id: '9876', team_name: 'Casting' }];
const dates = { start_date: '2014-09-01 00:00:00', due_date: '2014-09-15 00:00:00' };
const noDates = { start_date: NO_DATE, due_date: NO_DATE };

const company = {
  ...{ company_id: '321', company_name: 'The Bell Foundry', domain: 'bells.example', address1: '12 Kiln Road' },
  ...{ address2: '', city: 'Zurich', state: 'ZH', postcode: '8001', country: 'Switzerland', currency: 'CHF' },
  ...{ phone: '+41 44 000 00 00', signature: null, date_created: '2014-08-14 15:03:20' },
};

const person = (user_id: string, first_name: string) => ({
  ...{ user_id, email: `${first_name.toLowerCase()}@bells.example`, first_name, last_name: 'Doe' },
  ...{ avatar: `https://static.bells.example/${user_id}.jpg`, notifications: '1', last_company_id: '321' },
  date_created: '2014-08-15 09:03:20',
});

const client = {
  ...{ client_id: '7', client_name: 'Cathedral', contact_id: '0', email: '', tel: null, fax: null, mobile: null },
  ...{ website: '', address: '', city: '', state: '', postcode: '', country: '', notes: null, background: null },
  ...{ active: '1', ...recordMetadata },
};

const project = {
  ...{ project_id: '35', project_name: 'Great bell', uri: 'https://bells.example/viewproject/35', description: '' },
  ...{ color: '', tags: '', notes: '', ...dates, ongoing: '0', client_id: '7', client_name: 'Cathedral' },
  ...{ currency: 'CHF', billable_hours: 0.06, tracked_seconds: '198', estimated_hours: '0', hourly_rate: '0' },
  ...{ fixed_price: '0', price: '0', project_order: null, public: '0', active: '1', important: '0', closed: '0' },
  ...{
    progress: '100',
    notifications: '1',
    recurring: '',
    template: '0',
    archived: '0',
    ...recordMetadata,
    users,
    teams,
  },
};

const task = {
  ...{ task_id: '501', task_name: 'Draw the profile', description: '', color: '', tags: '', notes: '', ...dates },
  ...{ date_completed: NO_DATE, ongoing: '0', project_id: '35', project_name: 'Great bell', tracked_seconds: null },
  ...{ estimated_hours: '0', estimated_cost: '0', hourly_rate: '0', fixed_price: '0', price: '0' },
  ...{ task_order: '1415893855', active: '1', important: '0', completed: '0', progress: '0', notifications: '1' },
  ...{ recurring: '', archived: '0', ...recordMetadata, users, teams },
};

const subtask = {
  ...{ subtask_id: '61', subtask_name: 'Measure', description: '', color: 'dd067a', notes: '', ...noDates },
  ...{ date_completed: NO_DATE, ongoing: '1', project_id: '35', project_name: 'Great bell', task_id: '501' },
  ...{ task_name: 'Draw the profile', tracked_seconds: null, estimated_hours: '0', subtask_order: '0' },
  ...{
    active: '1',
    important: '0',
    completed: '0',
    progress: '50',
    notifications: '1',
    recurring: '',
    ...recordMetadata,
  },
  users: users.slice(0, 1),
};

const event = {
  ...{ event_id: '8', event_name: 'Pour', start_date: '2014-10-01 00:00:00', due_date: '2014-10-02 00:00:00' },
  ...{ project_id: '0', date_created: '2014-08-14 15:20:10', date_modified: NO_DATE, user_id: '1234' },
};

const time_entry = {
  ...{ entry_id: '90', date: '2015-01-11', date_started: '2015-01-11 09:05:04', date_stopped: '2015-01-11 10:05:04' },
  ...{ project_id: '35', task_id: '501', subtask_id: '0', project_name: 'Great bell', task_name: 'Draw the profile' },
  ...{ subtask_name: '', hours: 1, minutes: 0, seconds: '3600', description: 'Drawn', billed: 0, user_id: '1234' },
  user_name: 'John Doe',
};

const comment = {
  ...{ comment_id: '3', comment: 'Looks right', parent_id: '0', project_id: '35', task_id: '0', subtask_id: '0' },
  ...{ filepath: null, filename: null, note: '0', ...recordMetadata },
};

/** One record of each resource. */
export const records = {
  ...{ company, user: person('1234', 'John'), client, project, task, subtask, event, time_entry, comment },
} as const;

/** A small account: the records that its lists and its calls for a single record return. */
export const account = {
  singles: { company, user: person('1234', 'John') },
  lists: {
    users: [person('1234', 'John'), person('1235', 'Jane')],
    clients: [client, { ...client, client_id: '8', client_name: 'Town hall', email: null, active: '0' }],
    projects: [
      project,
      { ...project, project_id: '36', project_name: 'Small bells', ...noDates, client_id: '0', client_name: null },
      { ...project, project_id: '37', project_name: 'Retuning', project_order: '1415893856', recurring: 'Y' },
    ],
    tasks: [
      task,
      { ...task, task_id: '502', task_name: 'Check the mould', task_order: '1415893999', recurring: 'W' },
      {
        ...task,
        task_id: '503',
        task_name: 'Fixed',
        fixed_price: '1500',
        task_order: '1415894000.5',
        progress: '33.3',
      },
      {
        ...{ ...task, task_id: '504', task_name: 'Done', completed: '1', date_completed: '2014-12-01 10:00:00' },
        ...{ task_order: 1415894123, hourly_rate: 33.333333, tracked_seconds: '120', tags: null, estimated_hours: '' },
      },
    ],
    subtasks: [subtask, { ...subtask, subtask_id: '62', subtask_order: '1418804699', recurring: 'M', task_id: '502' }],
    events: [event],
  },
};
