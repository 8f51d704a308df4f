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

type TimerProps = {
  /** The timer that runs, if one does. */
  readonly running: TimeEntry | undefined;
  readonly tasks: readonly Task[];
  /** Something was started or stopped. */
  readonly onChange: () => void;
};

/** Whoever begins to work says on what; what it came to is entered when they say that they have ended. */
export function Timer({ running, tasks, onChange }: TimerProps) {
  const [chosen, setChosen] = useState('');
  const [now, setNow] = useState(Date.now());
  useEvery(running === undefined ? undefined : 1_000, () => setNow(Date.now()));
  const taskId = chosen || tasks[0]?.task_id;
  if (running !== undefined) {
    const seconds = secondsOf(running, now);
    return (
      <section class="card padded row timer" aria-label="Timer">
        <span class="grow">
          <strong>{running.task_name}</strong> <span class="soft">in {running.project_name}</span>
        </span>
        <span class="number" role="timer">
          {showSeconds(seconds)}
          <span class="soft">:{String(seconds % 60).padStart(2, '0')}</span>
        </span>
        <Button look="primary" icon="pause" onClick={() => void attempt(() => stop(running).then(onChange))}>
          Stop
        </Button>
      </section>
    );
  }
  return (
    <section class="card padded row timer" aria-label="Timer">
      <TaskSelect label="What you work on" tasks={tasks} value={taskId ?? ''} onChange={setChosen} />
      <Button
        look="primary"
        icon="play"
        disabled={taskId === undefined}
        onClick={() => taskId !== undefined && void attempt(() => start(taskId).then(onChange))}
      >
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

const stop = (running: TimeEntry) =>
  change(
    client.timeEntries,
    running.entry_id,
    { seconds: secondsOf(running, Date.now()), date_stopped: clock() },
    running,
  );
