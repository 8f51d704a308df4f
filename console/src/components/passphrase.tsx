import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';

type PassphraseProps = {
  readonly label: string;
  /** Tells password managers to fill in the stored passphrase, or to suggest a new one. */
  readonly autoComplete: 'current-password' | 'new-password';
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly autoFocus?: boolean;
  readonly minLength?: number;
  readonly hint?: string;
  readonly fault?: string;
};

/** Passphrase input with a show/hide button. */
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
