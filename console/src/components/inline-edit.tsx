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
  readonly emptyText?: string;
  /** Saves the value. If the promise rejects, the error is shown at the field, formatted by `formatError`. */
  readonly onSave: (value: string) => Promise<void>;
  readonly formatError: (error: unknown) => string;
  /** The value as displayed; defaults to `value`. */
  readonly children?: ComponentChildren;
};

/** Text that turns into an editor when clicked. Enter saves, Escape cancels. */
export function InlineEdit(props: InlineEditProps) {
  const [isOpen, setOpen] = useState(false);
  const openButtonRef = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // After Enter or Escape, focus the open button again, but not if the user has focused another element.
  useEffect(() => {
    if (wasOpen.current && !isOpen && document.activeElement === document.body) openButtonRef.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  if (isOpen) return <InlineEditor {...props} onClose={() => setOpen(false)} />;
  const { label, value, type, href, emptyText = 'None', children } = props;
  const displayedValue = children ?? (value === '' ? <span class="nothing">{emptyText}</span> : value);
  if (href === undefined) {
    return (
      <button
        type="button"
        class="inline"
        data-type={type}
        ref={openButtonRef}
        title={`Change ${label}`}
        onClick={() => setOpen(true)}
      >
        <span class="hidden-text">{`Change ${label}: `}</span>
        {displayedValue}
      </button>
    );
  }
  return (
    <span class="inline-link">
      <a href={href}>{displayedValue}</a>
      <button
        type="button"
        ref={openButtonRef}
        aria-label={`Change ${label}`}
        title="Change"
        onClick={() => setOpen(true)}
      >
        <Icon name="pencil" />
      </button>
    </span>
  );
}

type FieldElement = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

function InlineEditor({
  label,
  value,
  type = 'text',
  options,
  onSave,
  formatError,
  onClose,
}: InlineEditProps & { readonly onClose: () => void }) {
  const id = useId();
  const fieldRef = useRef<FieldElement>(null);
  const wasLastInputByKeyboard = useRef(false);
  const isClosed = useRef(false);
  const [draftValue, setDraftValue] = useState(value);
  const [errorText, setErrorText] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    fieldRef.current?.focus();
    if (fieldRef.current instanceof HTMLInputElement && type !== 'color') fieldRef.current.select();
  }, []);
  // Unmounting the field fires `blur`, which saves the draft unless `isClosed` is set.
  const closeEditor = () => {
    isClosed.current = true;
    onClose();
  };
  const saveDraft = async (newValue = draftValue) => {
    if (isBusy || isClosed.current) return;
    if (fieldRef.current instanceof HTMLInputElement && fieldRef.current.validity.badInput) {
      setErrorText(type === 'date' ? 'That is no day of the calendar.' : 'That is no number.');
      return;
    }
    if (type === 'date' && newValue !== '' && newValue < '1000') {
      setErrorText('Write the year with four digits.');
      return;
    }
    setBusy(true);
    try {
      if (newValue !== value) await onSave(newValue);
      // Closing the editor shifts the layout. If a pointer press took the focus from the field, wait until the click
      // of that press was dispatched; otherwise the click would be lost.
      if (document.activeElement !== fieldRef.current) await waitForPointerRelease();
      closeEditor();
    } catch (error) {
      setErrorText(formatError(error));
      setBusy(false);
      fieldRef.current?.focus();
    }
  };
  const fieldAttributes = {
    id,
    class: 'input',
    'aria-label': label,
    'aria-invalid': errorText === undefined ? undefined : true,
    'aria-describedby': errorText === undefined ? undefined : `${id}-fault`,
    readOnly: isBusy,
    value: draftValue,
    // Blur saves, except while a validation error is shown.
    onBlur: () => errorText === undefined && void saveDraft(),
    onKeyDown: (event: KeyboardEvent) => {
      wasLastInputByKeyboard.current = true;
      if (event.key === 'Escape') {
        event.stopPropagation();
        closeEditor();
      }
      const isSubmitKey = event.key === 'Enter' && !event.isComposing;
      if (!isSubmitKey || (type === 'area' && !event.ctrlKey && !event.metaKey)) return;
      event.preventDefault();
      void saveDraft();
    },
  } as const;
  const updateDraft = (event: { readonly currentTarget: FieldElement }) => {
    setDraftValue(event.currentTarget.value);
    setErrorText(undefined);
  };
  const setFieldRef = (element: FieldElement | null) => {
    fieldRef.current = element;
  };
  return (
    <span class="inline-editor" data-type={options === undefined ? type : 'choice'} aria-busy={isBusy}>
      {options !== undefined && (
        <select
          {...fieldAttributes}
          ref={setFieldRef}
          onPointerDown={() => {
            wasLastInputByKeyboard.current = false;
          }}
          onChange={(event) => {
            updateDraft(event);
            // With the keyboard, arrow keys only browse the options and Enter saves. With a pointer, selecting an
            // option saves it.
            if (!wasLastInputByKeyboard.current) void saveDraft(event.currentTarget.value);
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
        <textarea {...fieldAttributes} ref={setFieldRef} rows={5} onInput={updateDraft} />
      )}
      {options === undefined && type !== 'area' && (
        <input
          {...fieldAttributes}
          ref={setFieldRef}
          {...({ type } as object)}
          autoComplete="off"
          onInput={updateDraft}
        />
      )}
      {type === 'area' && <span class="hint">Ctrl Enter saves, Escape takes back.</span>}
      {errorText !== undefined && (
        <span id={`${id}-fault`} class="fault" role="alert">
          {errorText}
        </span>
      )}
    </span>
  );
}

type QuickAddFieldProps = {
  /** Label and placeholder of the field, such as `Add a task`. */
  readonly label: string;
  /** Creates the record. If the promise rejects, the error is shown at the field, formatted by `formatError`. */
  readonly onAdd: (name: string) => Promise<void>;
  readonly formatError: (error: unknown) => string;
  /** Additional fields of the form. */
  readonly children?: ComponentChildren;
};

/** Quick-add field at the end of a list: Enter creates a record and clears the field, Escape only clears it. */
export function QuickAddField({ label, onAdd, formatError, children }: QuickAddFieldProps) {
  const [name, setName] = useState('');
  const [errorText, setErrorText] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const addRecord = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    if (name.trim() === '') {
      setErrorText('Write a name first.');
      return;
    }
    setBusy(true);
    try {
      await onAdd(name);
      setName('');
    } catch (error) {
      setErrorText(formatError(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="add-line" onSubmit={addRecord}>
      <TextField
        label={label}
        isLabelHidden
        placeholder={label}
        autoComplete="off"
        value={name}
        errorText={errorText}
        onInput={(text) => {
          setName(text);
          setErrorText(undefined);
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
