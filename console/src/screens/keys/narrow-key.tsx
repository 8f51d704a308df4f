import { useState } from 'preact/hooks';
import type { Key } from '../../../../packages/sdk/src/keys.ts';
import { client } from '../../app/client.ts';
import { useSubmission } from '../../app/use-query.ts';
import { Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { tell } from '../../components/toast.tsx';
import { PermissionGrid } from './permission-grid.tsx';

type NarrowProps = { readonly narrowed: Key; readonly onDone: () => void; readonly onClose: () => void };

/** Dialog that renames a key or removes permissions from it. */
export function NarrowKey({ narrowed, onDone, onClose }: NarrowProps) {
  const [label, setLabel] = useState(narrowed.label);
  const [permissions, setPermissions] = useState(narrowed.permissions);
  const removedCount = narrowed.permissions.length - permissions.length;
  const { submit, isBusy, faults, fault } = useSubmission(async () => {
    await client.keys.update(narrowed.id, { label, ...(removedCount > 0 && { permissions }) });
    tell(removedCount > 0 ? 'Narrowed. It is in force already.' : 'Saved.');
    onClose();
    onDone();
  });
  return (
    <Dialog title="Change a key" isWide onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {fault !== undefined && <Note tone="bad">{fault}</Note>}
        <TextField
          label="What it is for"
          value={label}
          onInput={setLabel}
          autoComplete="off"
          maxLength={255}
          fault={faults.label}
        />
        <PermissionGrid chosen={permissions} among={narrowed.permissions} onChange={setPermissions} />
        <Note tone={removedCount > 0 ? 'warn' : 'info'}>
          A key only ever becomes narrower: what is taken from it cannot be given back. For more, issue another one.
        </Note>
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={isBusy}>
            {removedCount > 0
              ? `Take ${removedCount} ${removedCount === 1 ? 'permission' : 'permissions'} away`
              : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
