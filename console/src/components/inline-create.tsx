import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';

type AddLineProps = {
  /** Label and placeholder: `Add a task`. */
  readonly label: string;
  /** Creates the record. A rejection is shown at the field, formatted by `explain`. */
  readonly onAdd: (name: string) => Promise<void>;
  readonly explain: (error: unknown) => string;
  /** Additional fields of the form. */
  readonly children?: ComponentChildren;
};

/** Quick-add field at the end of a list: Enter creates a record and clears the field. Escape clears it. */
export function AddLine({ label, onAdd, explain, children }: AddLineProps) {
  const [name, setName] = useState('');
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const add = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    if (name.trim() === '') {
      setFault('Write a name first.');
      return;
    }
    setBusy(true);
    try {
      await onAdd(name);
      setName('');
    } catch (error) {
      setFault(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="add-line" onSubmit={add}>
      <TextField
        label={label}
        hideLabel
        placeholder={label}
        autoComplete="off"
        value={name}
        fault={fault}
        onInput={(text) => {
          setName(text);
          setFault(undefined);
        }}
        onKeyDown={(event) => event.key === 'Escape' && setName('')}
      />
      {children}
      <Button type="submit" icon="plus">
        Add
      </Button>
    </form>
  );
}
