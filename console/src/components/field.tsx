import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';

type FieldProps = {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Validation error, shown instead of the hint. */
  readonly errorText?: string;
  /** Shows the label to screen readers only. */
  readonly isLabelHidden?: boolean;
};

type FieldFrameProps = FieldProps & { readonly children: (attributes: ControlAttributes) => ComponentChildren };

type ControlAttributes = {
  readonly id: string;
  readonly 'aria-invalid'?: 'true';
  readonly 'aria-describedby'?: string;
};

/** Wraps a form control with its label, and with a hint or validation error below the control. */
function FieldFrame({ label, hint, errorText, isLabelHidden = false, children }: FieldFrameProps) {
  const id = useId();
  const hintOrError = errorText ?? hint;
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'hidden-text' : ''}>
        {label}
      </label>
      {children({
        id,
        ...(errorText !== undefined && { 'aria-invalid': 'true' }),
        ...(hintOrError !== undefined && { 'aria-describedby': `${id}-below` }),
      })}
      {hintOrError !== undefined && (
        <span
          id={`${id}-below`}
          class={errorText === undefined ? 'hint' : 'fault'}
          role={errorText === undefined ? undefined : 'alert'}
        >
          {hintOrError}
        </span>
      )}
    </div>
  );
}

type TextFieldProps = FieldProps & {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'date' | 'datetime-local' | 'number' | 'search' | 'time' | 'url';
  readonly name?: string;
  readonly placeholder?: string;
  readonly autoComplete?: string;
  readonly autoFocus?: boolean;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly readOnly?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly step?: number;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly onBlur?: () => void;
};

export function TextField({ label, hint, errorText, isLabelHidden, onInput, ...rest }: TextFieldProps) {
  const inputRef = useRef<HTMLInputElement>(null);
  // Call `focus()`, because browsers honor `autofocus` only on page load and when a dialog opens, not in a form that
  // is rendered later.
  useEffect(() => {
    if (rest.autoFocus) inputRef.current?.focus();
  }, []);
  return (
    <FieldFrame label={label} hint={hint} errorText={errorText} isLabelHidden={isLabelHidden}>
      {(controlAttributes) => (
        <input
          ref={inputRef}
          class="input"
          {...(rest as object)}
          {...controlAttributes}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </FieldFrame>
  );
}

type TextAreaProps = FieldProps & {
  readonly value: string;
  readonly rows?: number;
  readonly onInput: (value: string) => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
};

export function TextArea({ label, hint, errorText, isLabelHidden, onInput, ...rest }: TextAreaProps) {
  return (
    <FieldFrame label={label} hint={hint} errorText={errorText} isLabelHidden={isLabelHidden}>
      {(controlAttributes) => (
        <textarea
          class="input"
          {...rest}
          {...controlAttributes}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </FieldFrame>
  );
}

type SelectProps<T extends string> = FieldProps & {
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly text: string }[];
  readonly disabled?: boolean;
  readonly onChange: (value: T) => void;
};

export function Select<T extends string>({
  label,
  hint,
  errorText,
  isLabelHidden,
  options,
  onChange,
  ...rest
}: SelectProps<T>) {
  return (
    <FieldFrame label={label} hint={hint} errorText={errorText} isLabelHidden={isLabelHidden}>
      {(controlAttributes) => (
        <select
          class="input"
          {...rest}
          {...controlAttributes}
          onChange={(event) => onChange(event.currentTarget.value as T)}
        >
          {options.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </FieldFrame>
  );
}

type CheckboxProps = {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (checked: boolean) => void;
};

export function Checkbox({ label, onChange, ...rest }: CheckboxProps) {
  return (
    <label class="row">
      <input type="checkbox" {...rest} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

type RadioGroupProps<T extends string> = {
  readonly label: string;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly text: string }[];
  readonly onChange: (value: T) => void;
};

/** Segmented control that selects one of a few options, which are all visible. */
export function RadioGroup<T extends string>({ label, value, options, onChange }: RadioGroupProps<T>) {
  return (
    <fieldset class="choice" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.text}
        </button>
      ))}
    </fieldset>
  );
}

type FieldGroupProps = {
  readonly label: string;
  readonly errorText?: string | undefined;
  readonly children: ComponentChildren;
};

/** Groups controls under one label, with one validation error below them. */
export function FieldGroup({ label, errorText, children }: FieldGroupProps) {
  const errorId = useId();
  return (
    <fieldset class="field-group" aria-describedby={errorText === undefined ? undefined : errorId}>
      <legend>{label}</legend>
      {children}
      {errorText !== undefined && (
        <span id={errorId} class="fault" role="alert">
          {errorText}
        </span>
      )}
    </fieldset>
  );
}

type PassphraseFieldProps = {
  readonly label: string;
  /** Tells password managers to fill in the stored passphrase, or to suggest a new one. */
  readonly autoComplete: 'current-password' | 'new-password';
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly autoFocus?: boolean;
  readonly minLength?: number;
  readonly hint?: string;
  readonly errorText?: string;
};

/** Passphrase input with a show/hide button. */
export function PassphraseField(props: PassphraseFieldProps) {
  const [isPassphraseShown, setPassphraseShown] = useState(false);
  return (
    <div class="passphrase">
      <TextField {...props} type={isPassphraseShown ? 'text' : 'password'} name={props.autoComplete} required />
      <Button
        variant="quiet"
        pressed={isPassphraseShown}
        label={`Show: ${props.label}`}
        onClick={() => setPassphraseShown(!isPassphraseShown)}
      >
        {isPassphraseShown ? 'Hide' : 'Show'}
      </Button>
    </div>
  );
}
