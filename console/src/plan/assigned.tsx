import { useState } from 'preact/hooks';
import type { User } from '../../../src/sdk/users.ts';
import type { Assigned, Id } from '../../../src/sdk/wire.ts';
import { change, faultIn, Overtaken } from '../changes.ts';
import { client } from '../client.ts';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { Check } from '../design/field.tsx';
import { Icon } from '../design/icon.tsx';
import { Initials, Note, Waiting } from '../design/state.tsx';
import { tell } from '../design/toast.tsx';
import { attempt, useLoaded } from '../load.ts';
import { nameOf } from '../names.ts';
import type { Kept } from './facts.tsx';

const SHOWN = 3;

type PeopleProps<T> = {
  readonly kept: Kept<T, { users?: readonly Id[] }>;
  readonly record: T;
  readonly onChange: (record: T) => void;
};

/** Who is assigned to a record, by their initials; opened, everybody who could be. */
export function People<T extends { readonly users: readonly Assigned[] }>(props: PeopleProps<T>) {
  const [isOpen, setOpen] = useState(false);
  const { kept, record } = props;
  const { users } = record;
  const names = users.map(({ user_name }) => user_name || 'somebody without a name').join(', ');
  return (
    <>
      <button type="button" class="inline people" title={names} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span class="hidden-text">{`Assigned to ${kept.nameOf(record)}: ${names || 'nobody'}`}</span>
        {users.slice(0, SHOWN).map(({ user_id, user_name }) => (
          <Initials key={user_id} name={user_name || '?'} />
        ))}
        {users.length > SHOWN && (
          <span class="small soft" aria-hidden="true">
            +{users.length - SHOWN}
          </span>
        )}
        {users.length === 0 && (
          <span class="nothing">
            <Icon name="user" />
          </span>
        )}
      </button>
      {isOpen && <Picker {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function Picker<T extends { readonly users: readonly Assigned[] }>({
  kept,
  record,
  onChange,
  onClose,
}: PeopleProps<T> & { readonly onClose: () => void }) {
  const everybody = useLoaded(async (signal) => (await client.users.list({}, { signal })).data, []);
  const [chosen, setChosen] = useState<readonly string[]>(record.users.map(({ user_id }) => user_id));
  const [fault, setFault] = useState<string>();
  const id = kept.idOf(record);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const after = await change(kept.noun, id, { users: chosen }, record);
      const before = record.users.map(({ user_id }) => user_id);
      onChange(after);
      onClose();
      tell('Assigned people changed.', {
        undo: () => void attempt(async () => onChange(await change(kept.noun, id, { users: before }, after))),
      });
    } catch (error) {
      if (error instanceof Overtaken) onChange(error.record as T);
      setFault(
        error instanceof Overtaken
          ? 'Somebody else has changed who is assigned. Look again, then save.'
          : faultIn(error, 'Assigned'),
      );
      if (error instanceof Overtaken) setChosen((error.record as T).users.map(({ user_id }) => user_id));
    }
  };
  const toggle = ({ user_id }: User, isChosen: boolean) =>
    setChosen(isChosen ? [...chosen, user_id] : chosen.filter((one) => one !== user_id));
  return (
    <Dialog title={`Who is assigned to ${kept.nameOf(record)}?`} onClose={onClose}>
      <form class="stack" onSubmit={save}>
        {fault !== undefined && <Note tone="bad">{fault}</Note>}
        {everybody.fault !== undefined && <Note tone="bad">{everybody.fault}</Note>}
        {everybody.data === undefined && everybody.fault === undefined && <Waiting lines={2} />}
        {everybody.data?.map((user) => (
          <Check
            key={user.user_id}
            label={
              <span class="row">
                <Initials name={nameOf(user)} />
                {nameOf(user)}
              </span>
            }
            checked={chosen.includes(user.user_id)}
            onChange={(isChosen) => toggle(user, isChosen)}
          />
        ))}
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={everybody.data === undefined}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
