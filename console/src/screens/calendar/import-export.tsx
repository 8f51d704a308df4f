import { useState } from 'preact/hooks';
import type { Project } from '../../../../packages/sdk/src/projects.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Choice } from '../../components/field.tsx';
import { ImportFile } from './import-file.tsx';
import { Subscribe } from './subscribe.tsx';

const WAYS = [
  { value: 'subscribe', text: 'Subscribe' },
  { value: 'import', text: 'Import .ics' },
] as const;

type ExchangeProps = { readonly projects: readonly Project[]; readonly onClose: () => void };

/** With the calendar that somebody has already: out to it, and in from it. */
export default function Exchange({ projects, onClose }: ExchangeProps) {
  const [way, setWay] = useState<(typeof WAYS)[number]['value']>('subscribe');
  const [isSecretShown, setSecretShown] = useState(false);
  return (
    <Dialog title="Subscribe or import" isWide isFirm={isSecretShown} onClose={onClose}>
      <Choice label="Which way" value={way} options={WAYS} onChange={setWay} />
      {way === 'subscribe' ? (
        <Subscribe projects={projects} onSecret={setSecretShown} />
      ) : (
        <ImportFile projects={projects} />
      )}
    </Dialog>
  );
}
