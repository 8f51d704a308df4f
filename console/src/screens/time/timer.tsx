import { useState } from 'preact/hooks';
import type { Task, TimeEntry } from '../../../../packages/sdk/src/resources.ts';
import { today } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { updateIfUnchanged } from '../../app/optimistic-update.ts';
import { describeError, runWithToast, usePolling } from '../../app/use-query.ts';
import { Button } from '../../components/button.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { showToast } from '../../components/toast.tsx';
import { explainBareNumber, parseDuration, validateDuration } from './durations.ts';
import { DayTooLongError, requireDayTotalWithinLimit } from './entries.ts';

type RunningTimerProps = {
  readonly timer: TimeEntry;
  /** Called after the timer was stopped or discarded. */
  readonly onEnded: () => void;
};

/** Running timer with a stop button. If the measured time is implausible, the user must enter the correct time. */
export function RunningTimer({ timer, onEnded }: RunningTimerProps) {
  const [now, setNow] = useState(Date.now());
  const [isBusy, setBusy] = useState(false);
  const [correctionReason, setCorrectionReason] = useState<string>();
  usePolling(1_000, () => setNow(Date.now()));
  const stopOrDiscardTimer = async () => {
    const elapsedSeconds = elapsedSecondsOf(timer, Date.now());
    if (elapsedSeconds < 0) return setCorrectionReason('The clock is behind the start of this timer.');
    setBusy(true);
    try {
      if (elapsedSeconds < MIN_TIMER_SECONDS)
        await discardTimer(timer, onEnded, 'Timer discarded: it ran for less than a minute.');
      else await stopTimer(timer, elapsedSeconds);
      onEnded();
    } catch (error) {
      if (error instanceof DayTooLongError) setCorrectionReason(error.message);
      else showToast(describeError(error), { isError: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="card padded row timer" aria-label="Timer">
      <span class="grow">
        <strong>{timer.task_name}</strong> <span class="soft">in {timer.project_name}</span>
      </span>
      <span class="number" role="timer">
        {renderElapsedTime(Math.max(0, elapsedSecondsOf(timer, now)))}
      </span>
      {correctionReason === undefined ? (
        <Button variant="primary" icon="pause" disabled={isBusy} onClick={stopOrDiscardTimer}>
          Stop
        </Button>
      ) : (
        <CorrectionForm timer={timer} reason={correctionReason} onEnded={onEnded} />
      )}
    </section>
  );
}

/** A timer that has run for less than this time is discarded: it was probably started by mistake. */
const MIN_TIMER_SECONDS = 60;

type CorrectionFormProps = RunningTimerProps & { readonly reason: string };

/** Form for the correct time, for example after the timer ran overnight. */
function CorrectionForm({ timer, reason, onEnded }: CorrectionFormProps) {
  const [timeText, setTimeText] = useState('');
  const [errorText, setErrorText] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const bareNumberHint = explainBareNumber(timeText);
  const runAndReportEnd = async (action: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await action();
      onEnded();
    } catch (error) {
      setErrorText(describeError(error));
      setBusy(false);
    }
  };
  const saveCorrection = (event: Event) => {
    event.preventDefault();
    const validationError = validateDuration(timeText);
    if (validationError !== undefined) setErrorText(validationError);
    else if (!isBusy) void runAndReportEnd(() => stopTimer(timer, parseDuration(timeText) ?? 0));
  };
  return (
    <form class="row correct" aria-label="Correct the time" onSubmit={saveCorrection}>
      <p role="alert">{reason}</p>
      <TextField
        label="Time worked"
        placeholder="7:30"
        autoComplete="off"
        autoFocus
        value={timeText}
        {...(errorText !== undefined && { errorText })}
        {...(bareNumberHint !== undefined && { hint: bareNumberHint })}
        onInput={(text) => {
          setTimeText(text);
          setErrorText(undefined);
        }}
      />
      <Button variant="primary" type="submit" disabled={isBusy}>
        Save
      </Button>
      <Button
        disabled={isBusy}
        onClick={() => void runAndReportEnd(() => discardTimer(timer, onEnded, 'Timer discarded.'))}
      >
        Discard
      </Button>
    </form>
  );
}

type StartTimerFormProps = {
  readonly tasks: readonly Task[];
  /** Called after the timer was started. */
  readonly onStarted: () => void;
};

/** Form that selects a task and starts a timer for it. */
export function StartTimerForm({ tasks, onStarted }: StartTimerFormProps) {
  const [chosenTaskId, setChosenTaskId] = useState('');
  const [isBusy, setBusy] = useState(false);
  const taskId = chosenTaskId || tasks[0]?.task_id;
  const startTimerForChosenTask = async () => {
    if (taskId === undefined) return;
    setBusy(true);
    await runWithToast(() => startTimer(taskId));
    setBusy(false);
    onStarted();
  };
  return (
    <section class="card padded row timer" aria-label="Timer">
      <TaskSelect label="What you work on" tasks={tasks} value={taskId ?? ''} onChange={setChosenTaskId} />
      <Button variant="primary" icon="play" disabled={isBusy || taskId === undefined} onClick={startTimerForChosenTask}>
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

/** Select for one of the open tasks. */
export function TaskSelect({ label, tasks, value, onChange }: TaskSelectProps) {
  const options = tasks.map((task) => ({ value: task.task_id, text: `${task.task_name} – ${task.project_name}` }));
  return <Select label={label} value={value} options={options} disabled={options.length === 0} onChange={onChange} />;
}

function renderElapsedTime(seconds: number) {
  const padToTwoDigits = (part: number) => String(part).padStart(2, '0');
  return (
    <>
      {Math.floor(seconds / 3_600)}:{padToTwoDigits(Math.floor(seconds / 60) % 60)}
      <span class="soft">:{padToTwoDigits(seconds % 60)}</span>
    </>
  );
}

/**
 * Returns the start of a timer in milliseconds since the epoch. The API stores the start as local time without a time
 * zone.
 */
const startedAtMsOf = ({ date_started }: TimeEntry) => new Date(date_started.replace(' ', 'T')).getTime();

/**
 * Returns the elapsed seconds of a timer. The result is negative if the clock was set back, or if the user has moved to
 * a time zone further west, because start times have no time zone.
 */
const elapsedSecondsOf = (timer: TimeEntry, now: number) => Math.round((now - startedAtMsOf(timer)) / 1_000);

/** Formats a point in time as an API timestamp in local time. */
const formatLocalTimestamp = (date = new Date()) => `${today(date)} ${date.toTimeString().slice(0, 8)}`;

const startTimer = (taskId: string) =>
  client.timeEntries.create(taskId, { seconds: 0, date_started: formatLocalTimestamp() });

/** Stops a timer, which converts it to a finished time entry. */
async function stopTimer(timer: TimeEntry, seconds: number): Promise<void> {
  await requireDayTotalWithinLimit({ ...timer, seconds });
  const date_stopped = formatLocalTimestamp(new Date(startedAtMsOf(timer) + seconds * 1_000));
  await updateIfUnchanged(client.timeEntries, timer.entry_id, { seconds, date_stopped }, timer);
}

/** Deletes a timer; Undo creates the timer again with the same start time. */
async function discardTimer(timer: TimeEntry, onRestarted: () => void, toastText: string): Promise<void> {
  await client.timeEntries.delete(timer.entry_id);
  const { task_id, date, date_started, description } = timer;
  const restartTimer = async () => {
    await client.timeEntries.create(task_id, { seconds: 0, date, date_started, description });
    onRestarted();
  };
  showToast(toastText, { undo: () => void runWithToast(restartTimer) });
}
