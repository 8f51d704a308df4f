import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';

type AddLineProps = {
  /** What it adds: `Add a task`. */
  readonly label: string;
  /** Adds what was written. What it rejects with is shown at the field, in the words of `explain`. */
  readonly onAdd: (name: string) => Promise<void>;
  readonly explain: (error: unknown) => string;
  /** What else is to be chosen. */
  readonly children?: ComponentChildren;
};

/** One more at the end of a list, by one line: Enter adds it, and the line is free for the next. */
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
