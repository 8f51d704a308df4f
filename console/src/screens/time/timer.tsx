import { useState } from 'preact/hooks';
import type { Task } from '../../../../src/sdk/tasks.ts';
import type { TimeEntry } from '../../../../src/sdk/time-entries.ts';
import { change } from '../../changes.ts';
import { client } from '../../client.ts';
import { today } from '../../days.ts';
import { Button } from '../../design/button.tsx';
import { Select } from '../../design/field.tsx';
import { useEvery } from '../../every.ts';
import { attempt } from '../../load.ts';
import { showSeconds } from './durations.ts';

type RunningProps = {
  readonly timer: TimeEntry;
  /** It was stopped, here or elsewhere. */
  readonly onChange: () => void;
};

/** A timer that runs; what it came to is entered when somebody says that they have ended. */
export function Running({ timer, onChange }: RunningProps) {
  const [now, setNow] = useState(Date.now());
  const [isBusy, setBusy] = useState(false);
  useEvery(1_000, () => setNow(Date.now()));
  const seconds = secondsOf(timer, now);
  const end = async () => {
    setBusy(true);
    await attempt(() => stop(timer));
    setBusy(false);
    onChange();
  };
  return (
    <section class="card padded row timer" aria-label="Timer">
      <span class="grow">
        <strong>{timer.task_name}</strong> <span class="soft">in {timer.project_name}</span>
      </span>
      <span class="number" role="timer">
        {showSeconds(seconds)}
        <span class="soft">:{String(seconds % 60).padStart(2, '0')}</span>
      </span>
      <Button look="primary" icon="pause" disabled={isBusy} onClick={end}>
        Stop
      </Button>
    </section>
  );
}

type StartProps = {
  readonly tasks: readonly Task[];
  /** It was started. */
  readonly onChange: () => void;
};

/** Whoever begins to work says on what. */
export function Start({ tasks, onChange }: StartProps) {
  const [chosen, setChosen] = useState('');
  const [isBusy, setBusy] = useState(false);
  const taskId = chosen || tasks[0]?.task_id;
  const begin = async () => {
    if (taskId === undefined) return;
    setBusy(true);
    await attempt(() => start(taskId));
    setBusy(false);
    onChange();
  };
  return (
    <section class="card padded row timer" aria-label="Timer">
      <TaskSelect label="What you work on" tasks={tasks} value={taskId ?? ''} onChange={setChosen} />
      <Button look="primary" icon="play" disabled={isBusy || taskId === undefined} onClick={begin}>
        Start
      </Button>
    </section>
  );
}

type TaskSelectProps = {
  readonly label: string;
  readonly tasks: readonly Task[];
  readonly value: string;
  readonly onChange: (taskId: string) => void;
};

/** One of the open tasks, with its project. */
export function TaskSelect({ label, tasks, value, onChange }: TaskSelectProps) {
  const options = tasks.map((task) => ({ value: task.task_id, text: `${task.task_name} – ${task.project_name}` }));
  return <Select label={label} value={value} options={options} disabled={options.length === 0} onChange={onChange} />;
}

/** How long a timer has run, by the clock where somebody sits: it says when it was started as clocks there showed it. */
const secondsOf = ({ date_started }: TimeEntry, now: number) =>
  Math.max(0, Math.round((now - new Date(date_started.replace(' ', 'T')).getTime()) / 1_000));

/** The time that clocks show where somebody sits. */
const clock = () => `${today()} ${new Date().toTimeString().slice(0, 8)}`;

const start = (taskId: string) => client.timeEntries.create(taskId, { seconds: 0, date_started: clock() });

function stop(running: TimeEntry) {
  const now = clock();
  // Clocks that were set back, or somebody who has travelled west, may be behind the start.
  const date_stopped = now < running.date_started ? running.date_started : now;
  const changes = { seconds: secondsOf(running, Date.now()), date_stopped };
  return change(client.timeEntries, running.entry_id, changes, running);
}
