import './inline-edit.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';
import { Icon } from './icon.tsx';
import { waitForPointerRelease } from './menu.tsx';

export type InlineEditProps = {
  /** Accessible name, such as `Name of Release`. */
  readonly label: string;
  readonly value: string;
  readonly type?: 'text' | 'date' | 'number' | 'email' | 'url' | 'area' | 'color';
  /** Options to select from; undefined for an input without a fixed set of values. */
  readonly options?: readonly { readonly value: string; readonly text: string }[];
  /** Makes the text a link; a pencil button then opens the editor. */
  readonly href?: string;
  /** Placeholder for an empty value. */
  readonly empty?: string;
  /** Saves the value. If the promise rejects, the error is shown at the field, formatted by `explain`. */
  readonly onSave: (value: string) => Promise<void>;
  readonly explain: (error: unknown) => string;
  /** The value as displayed; defaults to `value`. */
  readonly children?: ComponentChildren;
};

/** Text that turns into an editor when clicked. Enter saves, Escape cancels. */
export function InlineEdit(props: InlineEditProps) {
  const [isOpen, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // Return the focus to the opener after Enter or Escape, but not when the user has focused another element.
  useEffect(() => {
    if (wasOpen.current && !isOpen && document.activeElement === document.body) opener.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  if (isOpen) return <Editor {...props} onClose={() => setOpen(false)} />;
  const { label, value, type, href, empty = 'None', children } = props;
  const displayed = children ?? (value === '' ? <span class="nothing">{empty}</span> : value);
  if (href === undefined) {
    return (
      <button
        type="button"
        class="inline"
        data-type={type}
        ref={opener}
        title={`Change ${label}`}
        onClick={() => setOpen(true)}
      >
        <span class="hidden-text">{`Change ${label}: `}</span>
        {displayed}
      </button>
    );
  }
  return (
    <span class="inline-link">
      <a href={href}>{displayed}</a>
      <button type="button" ref={opener} aria-label={`Change ${label}`} title="Change" onClick={() => setOpen(true)}>
        <Icon name="pencil" />
      </button>
    </span>
  );
}

type FieldElement = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

function Editor({
  label,
  value,
  type = 'text',
  options,
  onSave,
  explain,
  onClose,
}: InlineEditProps & { readonly onClose: () => void }) {
  const id = useId();
  const field = useRef<FieldElement>(null);
  const isKeyboardInput = useRef(false);
  const isDone = useRef(false);
  const [draft, setDraft] = useState(value);
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    field.current?.focus();
    if (field.current instanceof HTMLInputElement && type !== 'color') field.current.select();
  }, []);
  // Unmounting the field fires `blur`, which would save the draft; `isDone` prevents that.
  const close = () => {
    isDone.current = true;
    onClose();
  };
  const save = async (next = draft) => {
    if (isBusy || isDone.current) return;
    if (field.current instanceof HTMLInputElement && field.current.validity.badInput) {
      setFault(type === 'date' ? 'That is no day of the calendar.' : 'That is no number.');
      return;
    }
    if (type === 'date' && next !== '' && next < '1000') {
      setFault('Write the year with four digits.');
      return;
    }
    setBusy(true);
    try {
      if (next !== value) await onSave(next);
      // Closing the editor moves the layout. If the field lost its focus to a pointer press, wait for the click of
      // that press first.
      if (document.activeElement !== field.current) await waitForPointerRelease();
      close();
    } catch (error) {
      setFault(explain(error));
      setBusy(false);
      field.current?.focus();
    }
  };
  const fieldAttributes = {
    id,
    class: 'input',
    'aria-label': label,
    'aria-invalid': fault === undefined ? undefined : true,
    'aria-describedby': fault === undefined ? undefined : `${id}-fault`,
    readOnly: isBusy,
    value: draft,
    // Blur saves, except while a validation error is shown.
    onBlur: () => fault === undefined && void save(),
    onKeyDown: (event: KeyboardEvent) => {
      isKeyboardInput.current = true;
      if (event.key === 'Escape') {
        event.stopPropagation();
        close();
      }
      const isSubmitKey = event.key === 'Enter' && !event.isComposing;
      if (!isSubmitKey || (type === 'area' && !event.ctrlKey && !event.metaKey)) return;
      event.preventDefault();
      void save();
    },
  } as const;
  const handleInput = (event: { readonly currentTarget: FieldElement }) => {
    setDraft(event.currentTarget.value);
    setFault(undefined);
  };
  const setField = (element: FieldElement | null) => {
    field.current = element;
  };
  return (
    <span class="inline-editor" data-type={options === undefined ? type : 'choice'} aria-busy={isBusy}>
      {options !== undefined && (
        <select
          {...fieldAttributes}
          ref={setField}
          onPointerDown={() => {
            isKeyboardInput.current = false;
          }}
          onChange={(event) => {
            handleInput(event);
            // With the keyboard, arrow keys only browse the options and Enter saves. With a pointer, selecting an
            // option saves it.
            if (!isKeyboardInput.current) void save(event.currentTarget.value);
          }}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      )}
      {options === undefined && type === 'area' && (
        <textarea {...fieldAttributes} ref={setField} rows={5} onInput={handleInput} />
      )}
      {options === undefined && type !== 'area' && (
        <input {...fieldAttributes} ref={setField} {...({ type } as object)} autoComplete="off" onInput={handleInput} />
      )}
      {type === 'area' && <span class="hint">Ctrl Enter saves, Escape takes back.</span>}
      {fault !== undefined && (
        <span id={`${id}-fault`} class="fault" role="alert">
          {fault}
        </span>
      )}
    </span>
  );
}

type QuickAddFieldProps = {
  /** Label and placeholder of the field, such as `Add a task`. */
  readonly label: string;
  /** Creates the record. If the promise rejects, the error is shown at the field, formatted by `explain`. */
  readonly onAdd: (name: string) => Promise<void>;
  readonly explain: (error: unknown) => string;
  /** Additional fields of the form. */
  readonly children?: ComponentChildren;
};

/** Quick-add field at the end of a list: Enter creates a record and clears the field, Escape only clears it. */
export function QuickAddField({ label, onAdd, explain, children }: QuickAddFieldProps) {
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
