import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';

type PassphraseProps = {
  readonly label: string;
  /** What a password manager is to do: fill in the one it keeps, or offer one. */
  readonly autoComplete: 'current-password' | 'new-password';
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly autoFocus?: boolean;
  readonly minLength?: number;
  readonly hint?: string;
  readonly fault?: string;
};

/** A passphrase, hidden until one asks to see it. */
export function PassphraseField(props: PassphraseProps) {
  const [isShown, setShown] = useState(false);
  return (
    <div class="passphrase">
      <TextField {...props} type={isShown ? 'text' : 'password'} name={props.autoComplete} required />
      <Button look="quiet" pressed={isShown} label={`Show: ${props.label}`} onClick={() => setShown(!isShown)}>
        {isShown ? 'Hide' : 'Show'}
      </Button>
    </div>
  );
}
