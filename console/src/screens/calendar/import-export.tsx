import { useState } from 'preact/hooks';
import type { Project } from '../../../../packages/sdk/src/projects.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Choice } from '../../components/field.tsx';
import { ImportFile } from './import-file.tsx';
import { Subscribe } from './subscribe.tsx';

const MODES = [
  { value: 'subscribe', text: 'Subscribe' },
  { value: 'import', text: 'Import .ics' },
] as const;

type ExchangeProps = { readonly projects: readonly Project[]; readonly onClose: () => void };

/** Dialog to subscribe to the calendar from another program, and to import .ics files. */
export default function Exchange({ projects, onClose }: ExchangeProps) {
  const [mode, setMode] = useState<(typeof MODES)[number]['value']>('subscribe');
  const [isSecretShown, setSecretShown] = useState(false);
  return (
    <Dialog title="Subscribe or import" isWide isFirm={isSecretShown} onClose={onClose}>
      <Choice label="Which way" value={mode} options={MODES} onChange={setMode} />
      {mode === 'subscribe' ? (
        <Subscribe projects={projects} onSecret={setSecretShown} />
      ) : (
        <ImportFile projects={projects} />
      )}
    </Dialog>
  );
}
