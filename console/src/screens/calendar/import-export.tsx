import { useId, useState } from 'preact/hooks';
import type { CalendarImportReport } from '../../../../packages/sdk/src/calendars.ts';
import type { Project } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { useSubmission } from '../../app/use-query.ts';
import { Note, ProgressBar } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, RadioGroup, Select } from '../../components/field.tsx';
import { eventCache } from './calendar-actions.ts';
import { getBrowserTimeZone } from './locale.ts';
import { CalendarSubscriptions } from './subscribe.tsx';

const MODE_OPTIONS = [
  { value: 'subscribe', text: 'Subscribe' },
  { value: 'import', text: 'Import .ics' },
] as const;

type SubscribeOrImportProps = { readonly projects: readonly Project[]; readonly onClose: () => void };

/** Dialog for subscribing to the calendar from another program, and for importing .ics files. */
export default function SubscribeOrImportDialog({ projects, onClose }: SubscribeOrImportProps) {
  const [mode, setMode] = useState<(typeof MODE_OPTIONS)[number]['value']>('subscribe');
  // While a new subscription URL is shown, Escape must not close the dialog: the URL cannot be shown again.
  const [isSecretShown, setSecretShown] = useState(false);
  return (
    <Dialog title="Subscribe or import" isWide isPersistent={isSecretShown} onClose={onClose}>
      <RadioGroup label="Which way" value={mode} options={MODE_OPTIONS} onChange={setMode} />
      {mode === 'subscribe' ? (
        <CalendarSubscriptions projects={projects} onSecretVisibilityChange={setSecretShown} />
      ) : (
        <ImportForm projects={projects} />
      )}
    </Dialog>
  );
}

/** Form that imports an .ics file and shows the result. */
function ImportForm({ projects }: { readonly projects: readonly Project[] }) {
  const fileInputId = useId();
  const [file, setFile] = useState<File>();
  const [projectId, setProjectId] = useState('0');
  const [isSilent, setIsSilent] = useState(false);
  const [report, setReport] = useState<CalendarImportReport>();
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    setReport(undefined);
    const ics = file === undefined ? '' : await readUtf8File(file);
    setReport(
      await client.events.import({
        ics,
        project_id: projectId,
        default_time_zone: getBrowserTimeZone(),
        silent: isSilent,
      }),
    );
    await eventCache.reload();
  });
  const firstError = errorText ?? errorsByField.ics ?? errorsByField.project_id;
  return (
    <form class="stack" onSubmit={submit}>
      <p class="soft">A file that another calendar has exported. A second time it makes nothing twice.</p>
      {firstError !== undefined && <Note tone="bad">{firstError}</Note>}
      <div class="pair">
        <div class="field">
          <label for={fileInputId}>The file</label>
          <input
            id={fileInputId}
            class="input"
            type="file"
            accept=".ics,text/calendar"
            required
            onChange={(event) => setFile(event.currentTarget.files?.[0])}
          />
        </div>
        <Select
          label="Project of what is new"
          value={projectId}
          options={[
            { value: '0', text: 'None' },
            ...projects.map(({ project_id, project_name }) => ({ value: project_id, text: project_name })),
          ]}
          onChange={setProjectId}
        />
      </div>
      <Checkbox label="Tell no hook" checked={isSilent} onChange={setIsSilent} />
      {isBusy && <ProgressBar label="Bringing the file in" />}
      {report !== undefined && <ImportResult report={report} />}
      <div class="ends">
        <Button variant="primary" type="submit" disabled={isBusy || file === undefined}>
          {isBusy ? 'Importing…' : 'Import'}
        </Button>
      </div>
    </form>
  );
}

/** Reads a file as UTF-8. Throws for any other encoding, so that no garbled text is imported. */
async function readUtf8File(file: File): Promise<string> {
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is not in UTF-8. Save it so, and try again.`);
  }
}

function ImportResult({ report }: { readonly report: CalendarImportReport }) {
  const { created, changed, unchanged, deleted, dropped } = report;
  return (
    <div role="status">
      <Note tone="good">
        {`${created} created, ${changed} changed, ${unchanged} as before, ${deleted} deleted here and left so.`}
      </Note>
      {dropped.length > 0 && (
        <details>
          <summary>What was left out</summary>
          <ul>
            {dropped.map(({ what, reason, message, count, examples }) => (
              <li key={`${reason} ${what}`}>
                {`${count} × ${what}. ${message}`}
                <br />
                <span class="small soft">{examples.join(' · ')}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
